# SPDX-License-Identifier: Apache-2.0
"""Makes `import torchvision` work where its compiled part does not fit the torch that is installed: only its Python
code is wanted here, and that needs none of the operators which the compiled part would register."""
import torch

_register = torch.library.register_fake


def _register_others(name, *args, **kwargs):
    if isinstance(name, str) and name.startswith("torchvision::"):
        return lambda function: function
    return _register(name, *args, **kwargs)


torch.library.register_fake = _register_others
import torchvision  # noqa: E402, F401

torch.library.register_fake = _register
