"""The published job's arguments: each has its effect, or is refused; none is dropped silently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training import ranks
from training.config import load
from training.config.reading import settings
from training.seed_arguments import ARGUMENTS, main

# The arguments of the published Mathstral-7B job, as it was started.
PUBLISHED = """
--train_batch_size=1 --val_batch_size=1 --max_steps=5000 --seed=42 --grad_clip=1.0 --weight_decay=0.2
--beta1=0.9 --beta2=0.95 --activation_checkpointing=1 --intermediate_size=14336 --num_key_value_heads=8
--logging_freq=1 --max_context_width=32768 --vocab_size=32768 --hidden_width=4096 --num_layers=32
--num_heads=32 --resid_pdrop=0.1 --embd_pdrop=0.1 --attn_pdrop=0.1 --summary_first_pdrop=0.1
--initializer_range=0.02 --model_type=mistral --rotary_pct=0.25 --rotary_emb_base=10000 --lr=0.0001
--lr_decay_style=cosine --min_lr=1e-5 --warmup=0.0032 --plateau=0.0 --dataset=c4
--tokenizer=mistralai/mathstral-7B-v0.1 --epochs=3 --checkpoint_dir=./checkpoints/mathstral-7B
--resume_from_checkpoint=./checkpoints/mathstral-7B --checkpoint_freq=50 --validation_freq=500
--dataset_config_name=en --limit_all_gathers=1 --sharding_strategy=full --offload_activations=1
""".split()

# For each argument: a value that is not the default, and what it makes of the setting it names.
EXAMPLES: dict[str, tuple[str, Any]] = {
    "train_batch_size": ("3", 3),
    "val_batch_size": ("3", 3),
    "max_steps": ("7", 7),
    "max_training_steps": ("7", 7),
    "epochs": ("2", 2),
    "seed": ("7", 7),
    "same_seed": ("1", True),
    "bf16": ("0", "fp32"),
    "grad_clip": ("0.5", 0.5),
    "weight_decay": ("0.3", 0.3),
    "beta1": ("0.8", 0.8),
    "beta2": ("0.8", 0.8),
    "lr": ("0.001", 0.001),
    "min_lr": ("0.00002", 0.00002),
    "lr_decay_style": ("linear", "linear"),
    "lr_decay_iters": ("9", 9),
    "warmup": ("0.5", 0.5),
    "plateau": ("0.25", 0.25),
    "model_type": ("llama_v3", "llama"),
    "max_context_width": ("16", 16),
    "vocab_size": ("512", 512),
    "hidden_width": ("128", 128),
    "intermediate_size": ("256", 256),
    "num_layers": ("3", 3),
    "num_heads": ("2", 2),
    "num_key_value_heads": ("1", 1),
    "rotary_pct": ("0.25", 0.25),
    "rotary_emb_base": ("500", 500.0),
    "resid_pdrop": ("0.3", 0.3),
    "embd_pdrop": ("0.3", 0.3),
    "attn_pdrop": ("0.3", 0.3),
    "summary_first_pdrop": ("0.3", 0.3),
    "initializer_range": ("0.05", 0.05),
    "activation_checkpointing": ("0", False),
    "offload_activations": ("0", False),
    "activation_loading_horizon": ("3", 3),
    "cpu_offload": ("1", True),
    "limit_all_gathers": ("0", False),
    "sharding_strategy": ("hybrid", "hybrid"),
    "dataset": ("c4", "allenai/c4"),
    "dataset_config_name": ("realnewslike", "realnewslike"),
    "tokenizer": ("a/b", "a/b"),
    "checkpoint_dir": ("./elsewhere", "./elsewhere"),
    "resume_from_checkpoint": ("./old", "./old"),
    "checkpoint_freq": ("5", 5),
    "logging_freq": ("2", 2),
    "tensorboard_dir": ("./tb", "./tb"),
    "validation_freq": ("5", 5),
    "validation_batches": ("3", 3),
}
TINY = ("preset=tiny", "context_length=32", "weights=scratch")


def test_every_argument_has_a_setting_and_an_example() -> None:
    assert set(EXAMPLES) == set(ARGUMENTS)
    known = settings()
    assert [a for a, argument in ARGUMENTS.items() if argument.setting not in known] == []


@pytest.mark.parametrize("name", ARGUMENTS)
def test_each_argument_changes_the_setting_it_names_and_no_other(name: str, tmp_path: Path) -> None:
    text, value = EXAMPLES[name]
    own = [each for each in TINY if name != "max_context_width" or "context" not in each]
    base, out = tmp_path / "base.yaml", tmp_path / "job.yaml"
    base.write_text("preset: tiny\ncontext_length: 32\nweights: scratch\n")
    extra = ["dataset=allenai/c4"] if name == "dataset_config_name" else []
    assert main([f"--{name}={text}", "--out", str(out), *own, *extra]) == 0
    before, after = vars(load(base, extra)), vars(load(out))
    changed = {key: after[key] for key in before if before[key] != after[key]}
    assert changed == {ARGUMENTS[name].setting: value}


def test_the_published_job_from_scratch(tmp_path: Path) -> None:
    out = tmp_path / "job.yaml"
    assert main([*PUBLISHED, "weights=scratch", "--out", str(out)]) == 0
    job = load(out)
    assert (job.num_steps, job.context_length, job.rope_theta, job.rotary_fraction) == (
        5000,
        32768,
        1e4,
        0.25,
    )
    assert (job.checkpoint_every, job.validate_every, job.dataset) == (50, 500, "allenai/c4")


def test_the_published_job_would_damage_the_published_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    out = tmp_path / "job.yaml"
    assert main([*PUBLISHED, "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "rope_theta: 10000.0 here and 1000000.0 in the published mistralai/Mathstral-7B-v0.1" in said
    for part in (
        "rotary_fraction: 0.25 here and 1.0",
        "attention_dropout: 0.1 here and 0.0",
        "summary_dropout",
    ):
        assert part in said
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max_step=3"], "did you mean --max_steps?"),
        (["--zzz=3"], "--zzz: not an argument of the published job"),
        (["#", "http://example.org"], "#: not `--name=value`"),
        (["--max_steps"], "--max_steps: not `--name=value`"),
        (["--max_steps=x"], "num_steps: 'x' is not a whole number"),
        (["--model_type=gpt_neox"], "'gpt_neox' is not offered"),
        (["--bf16=2"], "--bf16: '2' is not offered"),
        (["--sharding_strategy=none"], "sharding: 'none' is not offered"),
        (["--rotary_pct=0.3"], "rotary_fraction: 0.3 of a head of 16 is not a number of pairs"),
        (["--num_heads=3"], "3 heads do not share 64 evenly"),
        (["--num_key_value_heads=3"], "3 does not divide 4 heads"),
        (["steps=3"], "steps: not a setting of a job"),
    ],
)
def test_what_is_refused_writes_nothing(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "job.yaml"
    assert main([*TINY, *arguments, "--out", str(out)]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("mine")
    assert main(["--seed=1", *TINY, "--out", str(tmp_path / "job.yaml")]) == 2
    assert (tmp_path / "job.yaml").read_text() == "mine"


def prefixes() -> list[str]:
    """Options of a rank that torchrun would take for an abbreviation of its own."""
    from torch.distributed.run import get_args_parser

    from training.arguments import job_parser

    theirs = [option for action in get_args_parser()._actions for option in action.option_strings]
    actions = [action for action in job_parser("rank")._actions if action.dest != "help"]
    ours = [option for action in actions for option in action.option_strings]
    return [o for o in ours for t in theirs if t.startswith(o) or t.startswith(o.replace("-", "_"))] + (
        [] if ours else ["none found"]
    )


def test_no_option_is_a_prefix_of_torchruns() -> None:
    assert ranks.call(prefixes) == []
