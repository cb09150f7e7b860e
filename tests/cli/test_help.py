# SPDX-License-Identifier: Apache-2.0
"""--help and parsing come from one table: what one knows the other knows."""
import re

import pytest

VERBS = ("run", "bench", "plan", "ops", "info", "show", "check", "index", "synth", "pack", "view", "compare", "split",
         "cache", "doctor", "top")
OPTION = re.compile(r"^  (?:-(.), |    )--([\w-]+)(?: (\S+(?: \S+)*))?(?:  |$)", re.M)


def test_every_verb_is_here(leat):
    listed = re.findall(r"^  (\w+) +\S", leat("--help").stdout, re.M)
    assert set(VERBS) == set(listed) - {"leat"}


@pytest.mark.parametrize("verb", VERBS)
def test_help(leat, verb):
    text = leat(verb, "--help").stdout
    assert text.startswith(f"Usage: leat {verb} ") and re.search(rf"\nExample:\n  leat {verb}\b", text) and text.endswith("\n")
    assert text == leat(verb, "-h").stdout
    long = [line for line in text.partition("\nExample:")[0].splitlines() if len(line) > 100]
    assert not long
    assert not re.search(r" $|\(null\)|\?\n", text, re.M)
    names = [name for _, name, _ in OPTION.findall(text)]
    assert len(names) == len(set(names)) and "help" in names


@pytest.mark.parametrize("verb", VERBS)
def test_what_help_lists_is_parsed(leat, verb):
    found = OPTION.findall(leat(verb, "--help").stdout)
    for letter, name, value in found:
        if name == "help":
            continue
        for word in [f"--{name}"] + ([f"-{letter}"] if letter else []):
            if value:
                said = leat(verb, word, code=2).stderr
                assert f"{word} needs a value" in said
            else:  # a flag goes on to what comes behind it
                said = leat(verb, word, "--no-such-option", code=2).stderr
                assert "there is no option --no-such-option" in said
