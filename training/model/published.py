"""The directory of a Hugging Face model, without torch: where it lies, and the shape its config.json states.

`python -m training.model.published mistralai/Mathstral-7B-v0.1 [--revision R]` fetches one from the hub into
the cache that HF_HOME names. Nothing else of the trainer fetches weights, so one process does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from training.model.presets import Shape

_WANTED = ["*.json", "*.safetensors", "tokenizer.model*", "*.jinja"]
_UNWANTED = ["consolidated*", "original/*"]
"""The same weights in the publisher's own format."""
_REFUSED = ("attention_bias", "mlp_bias", "quantization_config", "sliding_window")
"""Settings with an effect that is not built here; null and false are none."""


def find(name: str, revision: str | None, directory: Path) -> Path:
    """The directory of weights: a path (relative to `directory`), or a hub name that was fetched before.

    Raises FileNotFoundError.
    """
    if (path := directory / Path(name).expanduser()).is_dir():
        return Path(os.path.normpath(path))
    cached = _cache() / f"models--{name.replace('/', '--')}"
    try:
        commit = (cached / "refs" / (revision or "main")).read_text(encoding="utf-8").strip()
    except OSError:
        commit = revision or ""  # a commit itself
    if not commit or not (found := cached / "snapshots" / commit).is_dir():
        asked = f"{name} ({revision})" if revision else name
        raise FileNotFoundError(f"{asked}: neither a directory nor in the cache {_cache()}")
    return found


def read_shape(directory: Path) -> Shape:
    """The shape a config.json states, in the form of transformers 5 or of older versions.

    Raises OSError where it cannot be read and ValueError for a model that is not Mistral or Llama, or that
    has parts which are not built here.
    """
    try:
        content: dict[str, Any] = dict(json.loads((directory / "config.json").read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{directory}/config.json cannot be read: {error}") from None
    if content.get("model_type") not in ("mistral", "llama"):
        raise ValueError(f"{directory}: model_type {content.get('model_type')!r} is not mistral or llama")
    for key in _REFUSED:
        if content.get(key):
            raise ValueError(f"{directory}: {key} {content[key]!r} is not offered")
    try:
        return _shape(content)
    except KeyError as error:
        raise ValueError(f"{directory}/config.json lacks {error}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{directory}/config.json has a value of another kind: {error}") from None


def _shape(content: dict[str, Any]) -> Shape:
    heads = content["num_attention_heads"]
    theta, scaling, turned = _rotary(content)
    return Shape(
        model_type=content["model_type"],
        vocab_size=content["vocab_size"],
        hidden_size=content["hidden_size"],
        intermediate_size=content["intermediate_size"],
        num_hidden_layers=content["num_hidden_layers"],
        num_attention_heads=heads,
        num_key_value_heads=content.get("num_key_value_heads") or heads,
        head_dim=content.get("head_dim") or content["hidden_size"] // heads,
        max_context_length=content["max_position_embeddings"],
        rope_theta=theta,
        rope_scaling=scaling,
        rotary_fraction=turned,
        rms_norm_eps=content["rms_norm_eps"],
        tie_word_embeddings=content.get("tie_word_embeddings", False),
        initializer_range=content.get("initializer_range", 0.02),
        attention_dropout=content.get("attention_dropout") or 0.0,
    )


def _rotary(content: dict[str, Any]) -> tuple[float, dict[str, Any] | None, float]:
    """Base, stretching, and the part of a head that is turned."""
    rope = dict(content.get("rope_parameters") or content.get("rope_scaling") or {})
    theta = rope.pop("rope_theta", None) or content.get("rope_theta") or 10_000.0
    kind = rope.pop("rope_type", None) or rope.pop("type", "default")
    rope.pop("type", None)
    if kind == "proportional":  # how a part of a head is written down; see build.py
        turned = float(rope["partial_rotary_factor"])
        return float(theta) ** turned, None, turned
    return float(theta), ({"rope_type": kind, **rope} if kind != "default" else None), 1.0


def _cache() -> Path:
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


def main(arguments: list[str] | None = None) -> int:
    """Fetch a model from the hub; prints the directory it lies in."""
    parser = argparse.ArgumentParser(prog="python -m training.model.published")
    parser.add_argument("name", help="name on the hub, such as mistralai/Mathstral-7B-v0.1")
    parser.add_argument("--revision", help="commit of the model's repository; default: its newest")
    options = parser.parse_args(arguments)
    from huggingface_hub import snapshot_download

    try:
        where = snapshot_download(
            options.name, revision=options.revision, allow_patterns=_WANTED, ignore_patterns=_UNWANTED
        )
        print(where)
    except Exception as error:  # the library has many; each says in words what the hub answered
        print(f"{options.name}: {error}\n  hint: for a gated model set HF_TOKEN", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
