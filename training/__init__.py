"""The training job: PyTorch FSDP2 on Mistral, checkpoints that resume exactly, and its launcher.

Depends on torch, transformers, numpy, xxhash, PyYAML and itself; never on the laptop library. This file
imports nothing, so that the launcher's standard-library modules start without paying for torch.
"""
