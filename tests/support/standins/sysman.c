/* A small Level Zero loader with drivers and cards, for the real pyzes. Built once per test session.
 *
 * What it shows stands in a text file beside the library, LIBRARY.scenario, which is read again whenever it changed:
 *   init=CODE drivers=N                           first line
 *   card KEY=VALUE KEY=VALUE …                    one line a card; `_` in texts stands for a blank
 * Structures and their type numbers as in the public headers ze_api.h and zes_api.h; a structure that comes with a wrong
 * type number is refused, as real drivers may do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CARDS 64
#define PARTS 24
#define SUCCESS 0u
#define LOST 0x70000001u
#define NO_PERMISSION 0x70010000u
#define UNSUPPORTED 0x78000003u
#define BAD_ARGUMENT 0x78000004u
#define NULL_HANDLE 0x78000005u
#define API __attribute__((visibility("default"))) uint32_t

/* One number a card may have; the table below gives its name in the scenario and its value when it is left out. */
enum {
    DRIVER, DOMAIN, BUS, DEVICE, FUNCTION, ID, TYPE, FLAGS, TILES, UUID, SIZE, USED, FREE, MODULES_ON_TILES, BUSY, BUSY1,
    RENDER, COPY, MEDIA, GROUPS, SINGLES, TICKS, ACTIVE, STAMP, ENGINES, ENGINES_CODE, ACTIVITY_CODE, WATTS, CARD_METER,
    ENERGY, ENERGY_STAMP, LIMIT, TEMP, MEMTEMP, TEMP_CODE, MHZ, THROTTLE, GEN, WIDTH, RX, TX, STATS_CODE, TRAFFIC,
    MAX_TRAFFIC, TRAFFIC_CODE, CORRECTED, UNCORRECTED, PORTS, PORTS_UP, FAN, ECC, PID, CODE, HANG, SLOW, KEYS
};
static const struct { const char *name; double value; } KEY[KEYS] = {
    {"driver", 0}, {"domain", 0}, {"bus", 0x1a}, {"device", 0}, {"function", 0}, {"id", 0xe211}, {"type", 1}, {"flags", 0},
    {"tiles", 0}, {"uuid", 1}, {"size", 25669140480.0}, {"used", 9663676416.0}, {"free", -1}, {"modules_on_tiles", 0},
    {"busy", 0.61}, {"busy1", 0.25}, {"render", 0.0}, {"copy", 0.05}, {"media", 0}, {"groups", 1}, {"singles", 1}, {"ticks", 1},
    {"active", -1}, {"stamp", -1}, {"engines", 1}, {"engines_code", 0}, {"activity_code", 0}, {"watts", 148}, {"card_meter", 1},
    {"energy", -1}, {"energy_stamp", -1}, {"limit", 200000}, {"temp", 67}, {"memtemp", 72}, {"temp_code", 0}, {"mhz", 2150},
    {"throttle", 0}, {"gen", 4}, {"width", 16}, {"rx", 1e9}, {"tx", 2e9}, {"stats_code", 0}, {"traffic", 1e11},
    {"max_traffic", 4e11}, {"traffic_code", 0}, {"corrected", 0}, {"uncorrected", 0}, {"ports", 0}, {"ports_up", 0},
    {"fan", -1}, {"ecc", 1}, {"pid", 0}, {"code", 0}, {"hang", 0}, {"slow", 0},
};
enum { NAME, MODEL, SERIAL, VERSION, TEXTS };
static const char *const TEXT[TEXTS] = {"name", "model", "serial", "version"};

typedef enum { P_DEVICE, P_ENGINE, P_MEMORY, P_POWER, P_FREQUENCY, P_TEMPERATURE, P_RAS, P_PORT, P_FAN } part_kind;
typedef struct card card;
typedef struct { card *of; part_kind kind; uint32_t type; int tile; } part;
struct card { double value[KEYS]; char text[TEXTS][64]; part device; part parts[9][PARTS]; int counted[9]; };

static card cards[CARDS];
static int count, drivers = 1;
static uint32_t init_code;
static char driver_handles[16];
static struct timespec changed;

static double number(const card *c, int key) { return c->value[key]; }

static void add(card *c, part_kind kind, uint32_t type, int tile) {
    if (c->counted[kind] < PARTS) c->parts[kind][c->counted[kind]++] = (part){c, kind, type, tile};
}

static void furnish(card *c) {
    int tiles = (int)number(c, TILES), first = tiles > 1 ? 0 : -1, last = tiles > 1 ? tiles - 1 : -1;
    memset(c->counted, 0, sizeof c->counted);
    c->device = (part){c, P_DEVICE, 0, -1};
    for (int tile = first; tile <= last; tile++) {
        static const uint32_t groups[] = {0, 1, 12, 3, 2}, singles[] = {4, 5, 8, 6};
        for (size_t i = 0; number(c, ENGINES) && number(c, GROUPS) && i < sizeof groups / sizeof *groups; i++)
            add(c, P_ENGINE, groups[i], tile);
        for (size_t i = 0; number(c, ENGINES) && number(c, SINGLES) && i < sizeof singles / sizeof *singles; i++)
            add(c, P_ENGINE, singles[i], tile);
        add(c, P_MEMORY, 1, tile);
        add(c, P_POWER, 2, tile); /* package */
        add(c, P_FREQUENCY, 0, tile);
        add(c, P_FREQUENCY, 2, tile); /* media: not the clock that counts */
        add(c, P_TEMPERATURE, 1, tile);
        add(c, P_TEMPERATURE, 2, tile);
    }
    if (number(c, CARD_METER)) add(c, P_POWER, 1, -1);
    if (first == 0) add(c, P_POWER, 2, -1);
    add(c, P_RAS, 0, -1), add(c, P_RAS, 1, -1);
    for (int i = 0; i < (int)number(c, PORTS); i++) add(c, P_PORT, (uint32_t)i, -1);
    if (number(c, FAN) >= 0) add(c, P_FAN, 0, -1);
}

static void take(card *c, char *words) {
    for (int i = 0; i < KEYS; i++) c->value[i] = KEY[i].value;
    for (int i = 0; i < TEXTS; i++) strcpy(c->text[i], i == NAME ? "Intel(R) Arc(TM) Pro B60 Graphics" : "unknown");
    char *rest = NULL;
    for (char *word = strtok_r(words, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        char *value = strchr(word, '=');
        if (!value) continue;
        *value++ = 0;
        for (int i = 0; i < KEYS; i++) if (!strcmp(word, KEY[i].name)) c->value[i] = strtod(value, NULL);
        for (int i = 0; i < TEXTS; i++) if (!strcmp(word, TEXT[i])) {
            snprintf(c->text[i], sizeof c->text[i], "%s", value);
            for (char *at = c->text[i]; *at; at++) if (*at == '_') *at = ' ';
        }
    }
}

static void refresh(void) {
    static char path[4096];
    Dl_info info;
    struct stat now;
    if (!*path && dladdr((void *)&refresh, &info)) snprintf(path, sizeof path, "%s.scenario", info.dli_fname);
    if (stat(path, &now) || !memcmp(&now.st_mtim, &changed, sizeof changed)) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    char line[2048];
    int found = 0;
    while (fgets(line, sizeof line, file)) {
        char *value;
        if ((value = strstr(line, "init="))) init_code = (uint32_t)strtoul(value + 5, NULL, 0);
        if (!strncmp(line, "card", 4) && found < CARDS) take(&cards[found++], line + 4);
        else if ((value = strstr(line, "drivers="))) drivers = atoi(value + 8);
    }
    fclose(file);
    for (int i = 0; i < found && !count; i++) furnish(&cards[i]);
    if (!count) count = found;
    changed = now.st_mtim;
}

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Every call on a card: its delay, its fault, and whether the caller may. */
static uint32_t enter(const part *p) {
    if (!p) return NULL_HANDLE;
    refresh();
    if (number(p->of, SLOW) > 0) usleep((useconds_t)(number(p->of, SLOW) * 1000));
    return (uint32_t)number(p->of, CODE);
}

static uint32_t items(card *c, part_kind kind, uint32_t *n, void **out) {
    uint32_t there = (uint32_t)c->counted[kind];
    if (!out || *n == 0) { *n = there; return SUCCESS; }
    if (*n > there) *n = there;
    for (uint32_t i = 0; i < *n; i++) out[i] = &c->parts[kind][i];
    return SUCCESS;
}

#ifndef TOO_OLD
API zesInit(uint32_t flags) { refresh(); return flags ? BAD_ARGUMENT : init_code; }
#endif

API zesDriverGet(uint32_t *n, void **out) {
    if (!out || *n == 0) { *n = (uint32_t)drivers; return SUCCESS; }
    for (uint32_t i = 0; i < *n && i < (uint32_t)drivers; i++) out[i] = &driver_handles[i];
    return SUCCESS;
}

API zesDeviceGet(void *driver, uint32_t *n, void **out) {
    uint32_t found = 0;
    for (int i = 0; i < count; i++) if ((int)number(&cards[i], DRIVER) == (int)((char *)driver - driver_handles)) {
        if (out && found < *n) out[found] = &cards[i].device;
        found++;
    }
    *n = found;
    return SUCCESS;
}

typedef struct { int32_t stype; void *next; } header;
typedef struct {
    header head; int32_t type; uint32_t vendor, device, flags, subdevice, clock; uint64_t alloc;
    uint32_t contexts, priority, threads, simd, eus, subslices, slices; uint64_t resolution; uint32_t bits, kernel_bits;
    uint8_t uuid[16]; char name[256];
} core_properties;
typedef struct { header head; core_properties core; uint32_t tiles; char serial[64], board[64], brand[64], model[64], vendor[64], version[64]; } device_properties;
typedef struct { header head; uint8_t uuid[16]; int32_t type; uint32_t flags; } extended_properties;
typedef struct { uint32_t domain, bus, device, function; } address;
typedef struct { int32_t gen, width; int64_t bandwidth; } speed;

static void uuid_of(const card *c, int tile, uint8_t out[16]) {
    memset(out, 0, 16);
    if (!number(c, UUID)) return;
    uint16_t id = (uint16_t)number(c, ID), domain = (uint16_t)number(c, DOMAIN);
    uint8_t bytes[16] = {0x86, 0x80, (uint8_t)id, (uint8_t)(id >> 8), 0, 0, (uint8_t)domain, (uint8_t)(domain >> 8),
                         (uint8_t)number(c, BUS), (uint8_t)number(c, DEVICE), (uint8_t)number(c, FUNCTION)};
    bytes[15] = (uint8_t)(tile + 1);
    memcpy(out, bytes, 16);
}

API zesDeviceGetProperties(part *p, device_properties *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 1 || out->core.head.stype != 3) return BAD_ARGUMENT;
    const card *c = p->of;
    out->core.type = (int32_t)number(c, TYPE), out->core.vendor = 0x8086, out->core.device = (uint32_t)number(c, ID);
    uuid_of(c, -1, out->core.uuid);
    strcpy(out->core.name, c->text[NAME]), strcpy(out->model, c->text[MODEL]), strcpy(out->serial, c->text[SERIAL]);
    strcpy(out->board, "unknown"), strcpy(out->brand, "unknown"), strcpy(out->version, c->text[VERSION]);
    out->tiles = (uint32_t)number(c, TILES);
    extended_properties *more = out->head.next;
    if (more && more->head.stype == 0x2d) {
        more->type = out->core.type, more->flags = (uint32_t)number(c, FLAGS);
        uuid_of(c, -1, more->uuid);
    }
    return SUCCESS;
}

API zesDeviceGetSubDevicePropertiesExp(part *p, uint32_t *n, struct { header head; uint32_t id; uint8_t uuid[16]; } *out) {
    uint32_t code = enter(p), tiles;
    if (code) return code;
    tiles = (uint32_t)number(p->of, TILES);
    if (!out || !*n) { *n = tiles; return SUCCESS; }
    for (uint32_t i = 0; i < *n && i < tiles; i++) {
        if (out[i].head.stype != 0x00020004) return BAD_ARGUMENT;
        out[i].id = i, uuid_of(p->of, (int)i, out[i].uuid);
    }
    return SUCCESS;
}

API zesDevicePciGetProperties(part *p, struct { header head; address at; speed most; uint8_t have[3]; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 2) return BAD_ARGUMENT;
    const card *c = p->of;
    out->at = (address){(uint32_t)number(c, DOMAIN), (uint32_t)number(c, BUS), (uint32_t)number(c, DEVICE), (uint32_t)number(c, FUNCTION)};
    return SUCCESS;
}

API zesDevicePciGetState(part *p, struct { header head; int32_t status; uint32_t quality, stability; speed now; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 0x17) return BAD_ARGUMENT;
    out->now = (speed){(int32_t)number(p->of, GEN), (int32_t)number(p->of, WIDTH), -1};
    return SUCCESS;
}

API zesDevicePciGetStats(part *p, struct { uint64_t stamp, replays, packets, rx, tx; speed now; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (number(p->of, STATS_CODE)) return (uint32_t)number(p->of, STATS_CODE);
    double now = microseconds();
    out->stamp = (uint64_t)now, out->rx = (uint64_t)(now / 1e6 * number(p->of, RX)), out->tx = (uint64_t)(now / 1e6 * number(p->of, TX));
    return SUCCESS;
}

API zesDeviceEccAvailable(part *p, uint8_t *out) { uint32_t code = enter(p); if (!code) *out = number(p->of, ECC) > 0; return code; }

API zesDeviceGetEccState(part *p, struct { header head; int32_t current, pending, action; } *out) {
    uint32_t code = enter(p);
    if (!code && out->head.stype != 0x26) return BAD_ARGUMENT;
    if (!code) out->current = (int32_t)number(p->of, ECC);
    return code;
}

API zesDeviceProcessesGetState(part *p, uint32_t *n, struct { header head; uint32_t pid; uint64_t memory, shared; uint32_t engines; } *out) {
    uint32_t code = enter(p), there;
    if (code) return code;
    there = number(p->of, PID) > 0;
    if (!out || !*n) { *n = there; return SUCCESS; }
    if (there) out[0].pid = (uint32_t)number(p->of, PID), out[0].engines = 2;
    *n = there;
    return SUCCESS;
}

#define ENUMERATE(NAME, KIND) API NAME(part *p, uint32_t *n, void **out) { uint32_t code = enter(p); return code ? code : items(p->of, KIND, n, out); }
ENUMERATE(zesDeviceEnumMemoryModules, P_MEMORY)
ENUMERATE(zesDeviceEnumPowerDomains, P_POWER)
ENUMERATE(zesDeviceEnumFrequencyDomains, P_FREQUENCY)
ENUMERATE(zesDeviceEnumTemperatureSensors, P_TEMPERATURE)
ENUMERATE(zesDeviceEnumRasErrorSets, P_RAS)
ENUMERATE(zesDeviceEnumFabricPorts, P_PORT)
ENUMERATE(zesDeviceEnumFans, P_FAN)

API zesDeviceEnumEngineGroups(part *p, uint32_t *n, void **out) {
    uint32_t code = enter(p);
    if (code) return code;
    return number(p->of, ENGINES_CODE) ? (uint32_t)number(p->of, ENGINES_CODE) : items(p->of, P_ENGINE, n, out);
}

API zesEngineGetProperties(part *p, struct { header head; uint32_t type; uint8_t on_tile; uint32_t tile; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 5) return BAD_ARGUMENT;
    out->type = p->type, out->on_tile = p->tile >= 0, out->tile = p->tile < 0 ? 0 : (uint32_t)p->tile;
    return SUCCESS;
}

API zesEngineGetActivity(part *p, struct { uint64_t active, stamp; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    const card *c = p->of;
    if (number(c, HANG)) for (;;) pause();
    if (number(c, ACTIVITY_CODE)) return (uint32_t)number(c, ACTIVITY_CODE);
    double busy = number(c, p->tile == 1 ? BUSY1 : BUSY), now = microseconds() * number(c, TICKS);
    switch (p->type) {
    case 12: case 5: busy = number(c, RENDER); break;
    case 3: case 8: busy = number(c, COPY); break;
    case 2: case 6: busy = number(c, MEDIA); break;
    case 0: busy /= 4; break;
    }
    out->active = (uint64_t)(busy * now), out->stamp = (uint64_t)now;
    if (number(c, ACTIVE) >= 0 && (p->type == 1 || p->type == 4)) out->active = (uint64_t)number(c, ACTIVE);
    if (number(c, STAMP) >= 0) out->stamp = (uint64_t)number(c, STAMP);
    return SUCCESS;
}

API zesMemoryGetProperties(part *p, struct { header head; int32_t type; uint8_t on_tile; uint32_t tile; int32_t location; uint64_t physical; int32_t bus, channels; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 0xb) return BAD_ARGUMENT;
    out->on_tile = p->tile >= 0, out->tile = p->tile < 0 ? 0 : (uint32_t)p->tile;
    out->location = !((int)number(p->of, FLAGS) & 1), out->physical = (uint64_t)number(p->of, SIZE);
    return SUCCESS;
}

API zesMemoryGetState(part *p, struct { header head; int32_t health; uint64_t free, size; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 0x1e) return BAD_ARGUMENT;
    const card *c = p->of;
    out->size = (uint64_t)number(c, SIZE);
    out->free = number(c, FREE) >= 0 ? (uint64_t)number(c, FREE) : (uint64_t)(number(c, SIZE) - number(c, USED));
    return SUCCESS;
}

API zesMemoryGetBandwidth(part *p, struct { uint64_t read, written, most, stamp; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    const card *c = p->of;
    if (number(c, TRAFFIC_CODE)) return (uint32_t)number(c, TRAFFIC_CODE);
    double now = microseconds();
    out->read = out->written = (uint64_t)(now / 1e6 * number(c, TRAFFIC) / 2);
    out->most = (uint64_t)number(c, MAX_TRAFFIC), out->stamp = (uint64_t)now;
    return SUCCESS;
}

typedef struct { header head; int32_t level, source, unit; uint8_t locked, enabled, interval_locked; int32_t interval; uint8_t limit_locked; int32_t limit; } limit_description;

API zesPowerGetProperties(part *p, struct { header head; uint8_t on_tile; uint32_t tile; uint8_t control, threshold; int32_t limit, least, most; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 0xd) return BAD_ARGUMENT;
    out->on_tile = p->tile >= 0, out->tile = p->tile < 0 ? 0 : (uint32_t)p->tile, out->limit = -1;
    struct { header head; int32_t domain; limit_description *limit; } *more = out->head.next;
    if (more && more->head.stype == 0x28) {
        more->domain = (int32_t)p->type;
        if (more->limit) more->limit->limit = -1;
    }
    return SUCCESS;
}

API zesPowerGetEnergyCounter(part *p, struct { uint64_t energy, stamp; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    const card *c = p->of;
    double now = microseconds(), share = p->tile >= 0 ? 0.5 : p->type == 2 ? 0.8 : 1;
    out->energy = (uint64_t)(number(c, ENERGY) >= 0 ? number(c, ENERGY) : now * number(c, WATTS) * share);
    out->stamp = (uint64_t)(number(c, ENERGY_STAMP) >= 0 ? number(c, ENERGY_STAMP) : now);
    return SUCCESS;
}

API zesPowerGetLimitsExt(part *p, uint32_t *n, limit_description *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (!out || !*n) { *n = 2; return SUCCESS; }
    for (uint32_t i = 0; i < *n && i < 2; i++) {
        if (out[i].head.stype != 0x27) return BAD_ARGUMENT;
        out[i].level = i ? 1 : 3, out[i].limit = i ? (int32_t)number(p->of, LIMIT) : 999000;
    }
    return SUCCESS;
}

API zesFrequencyGetProperties(part *p, struct { header head; int32_t type; uint8_t on_tile; uint32_t tile; uint8_t control, events; double least, most; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 9) return BAD_ARGUMENT;
    out->type = (int32_t)p->type, out->on_tile = p->tile >= 0, out->tile = p->tile < 0 ? 0 : (uint32_t)p->tile;
    return SUCCESS;
}

API zesFrequencyGetState(part *p, struct { header head; double voltage, request, tdp, efficient, actual; uint32_t throttle; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 0x1b) return BAD_ARGUMENT;
    out->voltage = out->request = out->tdp = out->efficient = -1, out->throttle = (uint32_t)number(p->of, THROTTLE);
    out->actual = p->type == 2 ? 9000 : number(p->of, MHZ);
    return SUCCESS;
}

API zesTemperatureGetProperties(part *p, struct { header head; int32_t type; uint8_t on_tile; uint32_t tile; double most; uint8_t have[3]; } *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (out->head.stype != 0x14) return BAD_ARGUMENT;
    out->type = (int32_t)p->type, out->on_tile = p->tile >= 0, out->tile = p->tile < 0 ? 0 : (uint32_t)p->tile;
    return SUCCESS;
}

API zesTemperatureGetState(part *p, double *out) {
    uint32_t code = enter(p);
    if (code) return code;
    if (number(p->of, TEMP_CODE)) return (uint32_t)number(p->of, TEMP_CODE);
    *out = number(p->of, p->type == 2 ? MEMTEMP : TEMP);
    return SUCCESS;
}

API zesRasGetProperties(part *p, struct { header head; int32_t type; uint8_t on_tile; uint32_t tile; } *out) {
    uint32_t code = enter(p);
    if (!code) out->type = (int32_t)p->type, out->on_tile = 0;
    return code;
}

API zesRasGetState(part *p, uint8_t clear, struct { header head; uint64_t category[7]; } *out) {
    uint32_t code = enter(p);
    if (clear) abort(); /* nobody may clear the counters */
    if (!code) memset(out->category, 0, sizeof out->category), out->category[2] = (uint64_t)number(p->of, p->type ? UNCORRECTED : CORRECTED);
    return code;
}

API zesFabricPortGetState(part *p, struct { header head; int32_t status; } *out) {
    uint32_t code = enter(p);
    if (!code) out->status = p->type < (uint32_t)number(p->of, PORTS_UP) ? 1 : 3;
    return code;
}

API zesFanGetState(part *p, int32_t unit, int32_t *out) {
    uint32_t code = enter(p);
    if (!code) *out = unit == 0 ? (int32_t)number(p->of, FAN) : -1;
    return code;
}
