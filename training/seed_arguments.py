"""The published job's arguments as a job file: `python -m training.seed_arguments --train_batch_size=1 ...`.

Takes every argument of the public FSDP example by its name, and key=value for settings that have none there
(`weights=scratch`). Each has the effect its name says, also those that the example ignored, or is refused
with the reason; one that is not known is an error, where the example dropped it silently. Writes job.yaml
(`--out`). Exit codes: 0 written; 2 refused, and nothing is written.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from training.config import JobConfigError, Problem, parse
from training.model.shape import planned


@dataclass(frozen=True)
class Argument:
    """The setting that an argument becomes, and its values where they are called something else."""

    setting: str
    words: Mapping[str, Any] = field(default_factory=dict)
    only_words: bool = False


_SWITCH = {"0": False, "1": True}

# Source: FSDP/src/model_utils/arguments.py of aws-samples/awsome-distributed-training.
ARGUMENTS: dict[str, Argument] = {
    "train_batch_size": Argument("train_batch_size"),
    "val_batch_size": Argument("val_batch_size"),
    "max_steps": Argument("num_steps"),
    "max_training_steps": Argument("num_steps"),
    "epochs": Argument("num_epochs"),
    "seed": Argument("seed"),
    "same_seed": Argument("same_seed", _SWITCH, only_words=True),
    "bf16": Argument("precision", {"0": "fp32", "1": "bf16"}, only_words=True),
    "grad_clip": Argument("grad_clip"),
    "weight_decay": Argument("weight_decay"),
    "beta1": Argument("beta1"),
    "beta2": Argument("beta2"),
    "lr": Argument("learning_rate"),
    "min_lr": Argument("min_learning_rate"),
    "lr_decay_style": Argument("lr_schedule"),
    "lr_decay_iters": Argument("lr_decay_steps"),
    "warmup": Argument("warmup_fraction"),
    "plateau": Argument("plateau_fraction"),
    "model_type": Argument(
        "model_type", {"mistral": "mistral", "llama_v2": "llama", "llama_v3": "llama"}, only_words=True
    ),
    "max_context_width": Argument("context_length"),
    "vocab_size": Argument("vocab_size"),
    "hidden_width": Argument("hidden_size"),
    "intermediate_size": Argument("intermediate_size"),
    "num_layers": Argument("num_hidden_layers"),
    "num_heads": Argument("num_attention_heads"),
    "num_key_value_heads": Argument("num_key_value_heads"),
    "rotary_pct": Argument("rotary_fraction"),
    "rotary_emb_base": Argument("rope_theta"),
    "resid_pdrop": Argument("residual_dropout"),
    "embd_pdrop": Argument("embedding_dropout"),
    "attn_pdrop": Argument("attention_dropout"),
    "summary_first_pdrop": Argument("summary_dropout"),
    "initializer_range": Argument("initializer_range"),
    "activation_checkpointing": Argument("activation_checkpointing", _SWITCH, only_words=True),
    "offload_activations": Argument("activation_offloading", _SWITCH, only_words=True),
    "activation_loading_horizon": Argument("offload_horizon"),
    "cpu_offload": Argument("cpu_offload", _SWITCH, only_words=True),
    "limit_all_gathers": Argument("limit_all_gathers", _SWITCH, only_words=True),
    "sharding_strategy": Argument("sharding"),
    "dataset": Argument("dataset", {"c4": "allenai/c4"}),
    "dataset_config_name": Argument("dataset_config"),
    "tokenizer": Argument("tokenizer"),
    "checkpoint_dir": Argument("checkpoint_directory"),
    "resume_from_checkpoint": Argument("resume_from"),
    "checkpoint_freq": Argument("checkpoint_every"),
    "logging_freq": Argument("log_every"),
    "tensorboard_dir": Argument("tensorboard_directory"),
    "validation_freq": Argument("validate_every"),
    "validation_batches": Argument("validate_batches"),
}


def settings(given: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a job from arguments by name. Raises JobConfigError for unknown names and values."""
    found: dict[str, Any] = {}
    problems = []
    for name, text in given.items():
        argument = ARGUMENTS.get(name)
        if argument is None:
            problems.append(_unknown(name))
        elif argument.only_words and text not in argument.words:
            hint = "use one of " + ", ".join(argument.words)
            problems.append(Problem(f"--{name}", f"{text!r} is not offered", hint))
        else:
            found[argument.setting] = argument.words.get(text, yaml.safe_load(text))
    if problems:
        raise JobConfigError("arguments", problems)
    if _same_place(found.get("resume_from"), found.get("checkpoint_directory")):
        del found["resume_from"]  # where checkpoints are written is where a run looks for its own anyway
    return found


def _same_place(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and Path(one) == Path(other)


def _unknown(name: str) -> Problem:
    near = difflib.get_close_matches(name, ARGUMENTS, n=1)
    hint = f"did you mean --{near[0]}?" if near else "remove it"
    return Problem(f"--{name}", "not an argument of the published job", hint)


def read(arguments: list[str]) -> tuple[dict[str, str], list[str], list[Problem]]:
    """Arguments by name (`--name=value` or `--name value`), key=value texts, and what is neither."""
    given: dict[str, str] = {}
    own, problems = [], []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") and equals:
            own.append(word)
        elif word.startswith("--") and (equals or (rest and not rest[0].startswith("--"))):
            given[name] = value if equals else rest.pop(0)
        else:
            problems.append(Problem(word, "not `--name=value`", "give the argument its value"))
    return given, own, problems


def main(arguments: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m training.seed_arguments", allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("job.yaml"), help="file to write; default: job.yaml")
    options, rest = parser.parse_known_args(arguments)
    given, own, problems = read(rest)
    try:
        if problems:
            raise JobConfigError("arguments", problems)
        content = settings(given)
        config = parse(content, "arguments", own)
        planned(config, options.out.absolute().parent)
        content |= {text.partition("=")[0]: getattr(config, text.partition("=")[0]) for text in own}
        with options.out.open("x", encoding="utf-8") as file:
            yaml.safe_dump(content, file, sort_keys=False)
    except FileExistsError:
        print(f"{options.out} is already there\n  hint: give another file with --out", file=sys.stderr)
        return 2
    except (JobConfigError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
