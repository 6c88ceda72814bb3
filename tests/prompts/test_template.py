import re
from importlib.resources import files

import pytest
from tokenizers import Tokenizer

from memorai_core.errors import ConfigurationError
from memorai_core.prompts import load

PROMPTS = {
    "segmentation": ["conversation"],
    "gate": ["conversation"],
    "summary": ["conversation"],
    "triplets": ["conversation"],
    "entities": ["conversation", "names"],
    "fused": ["conversation"],
    "answer": ["memory", "history", "now"],
    "judge": ["question", "reference", "response"],
    "retry": ["prompt", "error"],
}


def test_every_prompt_file_is_known_here():
    found = {file.name.removesuffix(".md") for file in files("memorai_core.prompts").iterdir() if file.name.endswith(".md")}
    assert found == {*PROMPTS, "reading"}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_has_a_version_and_its_placeholders(name):
    template = load(name, *PROMPTS[name])
    assert re.fullmatch(r"\d+", template.version)
    assert template.name == name
    filled = template.fill(**dict.fromkeys(PROMPTS[name], "«here»"))
    assert filled.count("«here»") == len(PROMPTS[name])
    assert "$" not in filled


def test_a_dollar_sign_in_a_value_stays_what_it_is():
    assert load("gate", "conversation").fill(conversation="$5 and $name and $$").count("$5 and $name and $$") == 1


@pytest.mark.parametrize("placeholders", [[], ["conversation", "names"], ["talk"]])
def test_a_prompt_that_does_not_fit_its_function_is_refused(placeholders):
    with pytest.raises(ConfigurationError, match="'gate' has the placeholders"):
        load("gate", *placeholders)


def test_the_fused_prompts_instructions_take_at_most_900_tokens():
    tokenizer = Tokenizer.from_file(str(files("memorai_core.embedding") / "data" / "tokenizer.json"))
    tokenizer.no_truncation()
    assert len(tokenizer.encode(load("fused", "conversation").text).ids) <= 900
