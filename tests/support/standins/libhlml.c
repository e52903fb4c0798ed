/* A library with the functions of HLML that accel-tui calls, for the real binding. All values are invented.
 *
 * STANDIN_HLML names a folder; a file in it changes what happens from then on:
 *   count          number of cards (default 8)
 *   driver         the driver's version
 *   lost-N         the card with index N is lost
 *   hang-SYMBOL    that function never returns
 *   code-SYMBOL    that function returns the number in the file
 *   shift-modules  modules are not what the driver says
 *   chatty         every function prints
 * Built with -DOLD_ABI the PCI structure is that of 2023; with -DWITHOUT_POWER one function is missing. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CARDS 8
#define OK 0
#define INVALID 2
#define NOT_FOUND 6
#define LOST 15

static const char *ADDRESS[CARDS] = {"0000:19:00.0", "0000:3b:00.0", "0000:4c:00.0", "0000:5d:00.0",
                                     "0000:9a:00.0", "0000:b3:00.0", "0000:cc:00.0", "0000:dd:00.0"};
static const unsigned INDEX[CARDS] = {2, 0, 1, 3, 7, 4, 9, 5};
static int identity[CARDS] = {0, 1, 2, 3, 4, 5, 6, 7};

typedef struct { char speed[10], width[10], max_speed[10], max_width[10]; } caps_t;
#ifdef OLD_ABI
typedef struct { unsigned bus; char bus_id[15]; unsigned device, domain, pci_device_id; char speed[10], width[10]; } pci_t;
#else
typedef struct { unsigned bus; char bus_id[19]; unsigned device, domain, pci_device_id; caps_t caps; unsigned rev, subsys; } pci_t;
#endif
typedef struct { unsigned aip, memory; } utilization_t;
typedef struct { unsigned long long free, total, used; } memory_t;
typedef struct { unsigned long long reference, violation; } violation_t;

static long setting(const char *prefix, const char *name, char *text, size_t size) {
    const char *folder = getenv("STANDIN_HLML");
    char path[1024];
    if (!folder) return -1;
    snprintf(path, sizeof path, "%s/%s%s", folder, prefix, name);
    if (access(path, F_OK)) return -1;
    FILE *file = fopen(path, "r");
    char buffer[128] = "";
    if (file) { if (!fgets(buffer, sizeof buffer, file)) buffer[0] = 0; fclose(file); }
    buffer[strcspn(buffer, "\n")] = 0;
    if (text) snprintf(text, size, "%s", buffer);
    return atol(buffer);
}

static int begin(const char *symbol) {
    static int plain = -1;
    if (plain < 0) plain = getenv("STANDIN_HLML") == NULL;
    if (plain) return OK;
    if (setting("chatty", "", NULL, 0) >= 0) { printf("libhlml: %s\n", symbol); fflush(stdout); }
    if (setting("hang-", symbol, NULL, 0) >= 0) for (;;) pause();
    long code = setting("code-", symbol, NULL, 0);
    return code > 0 ? (int)code : OK;
}

static int of_card(const char *symbol, void *device) {
    int code = begin(symbol);
    if (code) return code;
    if (!device) return INVALID;
    char number[16];
    snprintf(number, sizeof number, "%u", INDEX[*(int *)device]);
    return setting("lost-", number, NULL, 0) >= 0 ? LOST : OK;
}

#define PLAIN(name) int code = begin(#name); if (code) return code
#define CARD(name) int code = of_card(#name, device); if (code) return code; unsigned card = (unsigned)*(int *)device; (void)card

static int count(void) { long n = setting("count", "", NULL, 0); return n >= 0 ? (int)n : CARDS; }

int hlml_init(void) { PLAIN(hlml_init); return OK; }
int hlml_shutdown(void) { return OK; }
int hlml_device_get_count(unsigned *out) { PLAIN(hlml_device_get_count); *out = (unsigned)count(); return OK; }

int hlml_device_get_handle_by_pci_bus_id(const char *address, void **out) {
    PLAIN(hlml_device_get_handle_by_pci_bus_id);
    for (int i = 0; i < count(); i++) if (!strcmp(address, ADDRESS[i])) { *out = &identity[i]; return OK; }
    return NOT_FOUND;
}
int hlml_device_get_handle_by_index(unsigned index, void **out) {
    PLAIN(hlml_device_get_handle_by_index);
    for (int i = 0; i < count(); i++) if (index == INDEX[i]) { *out = &identity[i]; return OK; }
    return NOT_FOUND;
}
int hlml_device_get_name(void *device, char *out, unsigned size) {
    CARD(hlml_device_get_name); snprintf(out, size, "HL-325L"); return OK;
}
int hlml_device_get_uuid(void *device, char *out, unsigned size) {
    CARD(hlml_device_get_uuid); snprintf(out, size, "00P0-HL3000A0-00-XX%02uX-00-00-00", card); return OK;
}
int hlml_device_get_serial(void *device, char *out, unsigned size) {
    CARD(hlml_device_get_serial); snprintf(out, size, "ZZ0000000%u", card); return OK;
}
int hlml_device_get_module_id(void *device, unsigned *out) {
    CARD(hlml_device_get_module_id);
    *out = setting("shift-modules", "", NULL, 0) >= 0 ? (card + 1) % CARDS : card;
    return OK;
}
int hlml_device_get_minor_number(void *device, unsigned *out) { CARD(hlml_device_get_minor_number); *out = INDEX[card]; return OK; }
int hlml_device_get_pci_info(void *device, pci_t *out) {
    CARD(hlml_device_get_pci_info);
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "%s", ADDRESS[card]);
    out->pci_device_id = 0x10601da3;
#ifdef OLD_ABI
    snprintf(out->speed, sizeof out->speed, "32GT/s");
#else
    snprintf(out->caps.speed, sizeof out->caps.speed, "32GT/s");
#endif
    return OK;
}
int hlml_device_get_utilization_rates(void *device, utilization_t *out) {
    CARD(hlml_device_get_utilization_rates); out->aip = 10 * card; out->memory = card; return OK;
}
int hlml_device_get_memory_info(void *device, memory_t *out) {
    CARD(hlml_device_get_memory_info);
    out->total = 131072ull << 20; out->used = (672ull + 1000 * card) << 20; out->free = out->total - out->used;
    return OK;
}
int hlml_device_get_temperature(void *device, int sensor, unsigned *out) {
    CARD(hlml_device_get_temperature);
    if (sensor != 0 && sensor != 3) return 3;
    *out = 40 + card + (sensor == 3 ? 10 : 0);
    return OK;
}
#ifndef WITHOUT_POWER
int hlml_device_get_power_usage(void *device, unsigned *out) { CARD(hlml_device_get_power_usage); *out = 221500 + 1000 * card; return OK; }
#endif
int hlml_device_get_power_management_limit(void *device, unsigned *out) {
    CARD(hlml_device_get_power_management_limit); *out = 850000; return OK;
}
int hlml_device_get_clock_info(void *device, int type, unsigned *out) {
    CARD(hlml_device_get_clock_info); if (type) return 3; *out = 1650; return OK;
}
int hlml_device_get_current_clocks_throttle_reasons(void *device, unsigned long long *out) {
    CARD(hlml_device_get_current_clocks_throttle_reasons); *out = card == 1 ? 3 : 0; return OK;
}
int hlml_device_get_total_energy_consumption(void *device, unsigned long long *out) {
    CARD(hlml_device_get_total_energy_consumption); *out = 5000000ull + card; return OK;
}
int hlml_device_get_total_ecc_errors(void *device, int error, int counter, long long *out) {
    CARD(hlml_device_get_total_ecc_errors); (void)counter; *out = error ? 0 : card; return OK;
}
int hlml_device_get_curr_pcie_link_generation(void *device, unsigned *out) {
    CARD(hlml_device_get_curr_pcie_link_generation); *out = 5; return OK;
}
int hlml_device_get_curr_pcie_link_width(void *device, unsigned *out) {
    CARD(hlml_device_get_curr_pcie_link_width); *out = 16; return OK;
}
int hlml_device_get_pcie_replay_counter(void *device, unsigned *out) {
    CARD(hlml_device_get_pcie_replay_counter); *out = 2; return OK;
}
int hlml_device_get_violation_status(void *device, int policy, violation_t *out) {
    CARD(hlml_device_get_violation_status); (void)policy; memset(out, 0, sizeof *out); return OK;
}
int hlml_device_get_replaced_rows(void *device, int cause, unsigned *out, void *addresses) {
    CARD(hlml_device_get_replaced_rows); (void)addresses; *out = cause ? 0 : 3; return OK;
}
int hlml_device_get_replaced_rows_pending_status(void *device, unsigned *out) {
    CARD(hlml_device_get_replaced_rows_pending_status); *out = card == 2; return OK;
}
int hlml_device_get_oper_status(void *device, char *out, unsigned size) {
    CARD(hlml_device_get_oper_status); snprintf(out, size, "Operational"); return OK;
}
int hlml_get_mac_addr_info(void *device, uint64_t *mask, uint64_t *external) {
    CARD(hlml_get_mac_addr_info);
    mask[0] = 0xffffff; mask[1] = 0; external[0] = 1ull << 8 | 1ull << 22 | 1ull << 23; external[1] = 0;
    return OK;
}
int hlml_nic_get_link(void *device, uint32_t port, bool *out) {
    CARD(hlml_nic_get_link); *out = !(card == 3 && port == 10) && port != 8; return OK;
}
static int version(char *out, unsigned size) {
    char text[128] = "";
    setting("driver", "", text, sizeof text);
    snprintf(out, size, "%s", *text ? text : "1.24.2-0a1b2c3");
    return OK;
}
int hlml_get_hlml_version(char *out, unsigned size) { PLAIN(hlml_get_hlml_version); return version(out, size); }
int hlml_get_driver_version(char *out, unsigned size) { PLAIN(hlml_get_driver_version); return version(out, size); }
