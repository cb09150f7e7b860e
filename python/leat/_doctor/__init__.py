# SPDX-License-Identifier: Apache-2.0
"""Why training is slow, for programs that need not use leat.

    findings.py      what is found and what helps, in one form: Finding, Remedy, Diagnosis
    clocks.py        times of steps, of epochs and of threads
    devices.py       devices that are present, and whether they are used
    remedies.py      what makes the data, why a program waits for them, and what helps
    layers.py        parameters and operations of a model's layers
    engine.py        leat's own datasets, which the engine examines
    tfdata.py        a pipeline of tf.data, judged by what runs: tfdata_tree.py; tfdata_chain.py is what was written, class_runs.py
                     the order of its labels
    watch.py         leat.doctor(iterable, step=...): any iterable
    torch_doctor.py  leat.torch.Doctor: a loop of torch
    keras_doctor.py  leat.keras.Doctor: a callback of Keras; keras_steps.py splits the time of steps, keras_ablation.py measures
                     parts of a step alone, keras_judge.py says what it means
    script.py        python -m leat doctor train.py: a whole script; script_hooks.py is where it is watched

Nothing here changes what a program trains.
"""
