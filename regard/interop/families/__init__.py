"""The families, one file each. `FAMILIES` is their table, by the word that config.json has for them."""

from regard.interop.families import bert, gpt2, llama, marian, neox, t5, vit
from regard.interop.family import Family

FAMILIES: dict[str, Family] = {
    module.FAMILY.model_type: module.FAMILY for module in (gpt2, llama, neox, bert, vit, marian, t5)
}
