# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of JAX, distributed.

    step = meshwright.jax.distribute(train_step, strategy, mesh={"dp": 4})(params, opt_state, batch)
    print(step.package.explain())
    for batch in batches:
        loss = step(batch)
    params, opt_state = step.state
"""
from ._distribute import DistributedStep, distribute, export

__all__ = ["DistributedStep", "distribute", "export"]
