"""A tiny real model, its tokenizer and a text to train it on, made offline in seconds.

Qwen3 architecture, about a million parameters; a byte-level BPE tokenizer trained on the reference text that
every Python carries. The same Python and torch stack give the same files.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from accel_tui_worker.errors import BadInputError

MANIFEST = "tiny-model.json"
"""Lists the finished files with their sizes; a folder without it was not made by `make`."""

VOCABULARY = 2048
EVAL_SHARE = 20
"""Every so many paragraphs one goes to `eval.txt`."""

SPECIAL_TOKENS = ["<|begin|>", "<|pad|>", "<|end|>", "<|im_start|>", "<|im_end|>"]

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def make(dest: Path) -> None:
    """Make the model folder `dest` with `train.txt` and `eval.txt` in it, unless it is there and complete.

    Raises:
        BadInputError: `dest` exists and holds something else.
    """
    if complete(dest):
        print(f"tiny model: {dest} is complete", flush=True)
        return
    if dest.exists() and not (dest.is_dir() and (_ours(dest) or not any(dest.iterdir()))):
        raise BadInputError(f"{dest} exists and is not a tiny model; name another folder")
    dest.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{dest.name}-", dir=dest.parent) as temporary:
        made = Path(temporary) / "model"
        made.mkdir()
        _fill(made)
        _put_in_place(made, dest, Path(temporary) / "replaced")
    print(f"tiny model: {dest} is ready", flush=True)


def complete(dest: Path) -> bool:
    """Whether every file of the folder's manifest is there with its size."""
    try:
        manifest = json.loads((dest / MANIFEST).read_text("utf-8"))
        return all((dest / name).stat().st_size == size for name, size in manifest["files"].items())
    except (OSError, ValueError, KeyError, AttributeError):
        return False


def _ours(dest: Path) -> bool:
    return (dest / MANIFEST).is_file()


def _put_in_place(made: Path, dest: Path, replaced: Path) -> None:
    if dest.exists():
        dest.rename(replaced)
    try:
        made.rename(dest)
    except OSError:
        if not complete(dest):  # else another process was quicker with the same thing
            raise


def _fill(folder: Path) -> None:
    print("tiny model: 1/4 text", flush=True)
    train, evaluation = _texts()
    (folder / "train.txt").write_text(train, "utf-8")
    (folder / "eval.txt").write_text(evaluation, "utf-8")
    print("tiny model: 2/4 importing transformers", flush=True)
    import transformers  # noqa: F401 - the import is what takes the time

    print("tiny model: 3/4 tokenizer", flush=True)
    tokenizer = _tokenizer(train)
    tokenizer.save_pretrained(folder)
    print("tiny model: 4/4 model", flush=True)
    _model(tokenizer).save_pretrained(folder)
    files = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    manifest = folder / MANIFEST
    with manifest.open("w", encoding="utf-8") as stream:
        json.dump({"schema": 1, "files": files}, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())


def _texts() -> tuple[str, str]:
    """The reference text of this Python, as text to train on and text to evaluate on."""
    from pydoc_data.topics import topics

    paragraphs = [text for name in sorted(topics) for text in topics[name].split("\n\n") if text.strip()]
    train = [text for index, text in enumerate(paragraphs) if index % EVAL_SHARE]
    evaluation = paragraphs[::EVAL_SHARE]
    return "\n\n".join(train) + "\n", "\n\n".join(evaluation) + "\n"


def _tokenizer(text: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|begin|>",  # noqa: S106 - a token of a vocabulary, not a password
        pad_token="<|pad|>",  # noqa: S106
        eos_token="<|end|>",  # noqa: S106
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def _model(tokenizer: Any) -> Any:
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        use_sliding_window=False,
        sliding_window=None,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(config)
    generation = model.generation_config
    generation.bos_token_id = tokenizer.bos_token_id
    generation.eos_token_id = [tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|im_end|>")]
    generation.pad_token_id = tokenizer.pad_token_id
    return model
