"""The training job: PyTorch FSDP2 on Mistral, checkpoints that resume exactly, and its launcher.

Depends on torch, transformers, numpy, safetensors, xxhash and PyYAML; on datasets, tokenizers and
huggingface_hub where text or weights are not plain files here; on tensorboard and mlflow where they are asked
for; never on the laptop library. This file imports nothing, so that the launcher's standard-library modules
start without paying for torch.
"""
