"""The table of Hugging Face families, from benchmarks/results/families.json."""

from mechanisms import read, table

HEADS = ("`model_type`", "read with", "logits", "patterns", "greedy tokens", "tokenizer")
SUFFIXES = {
    "ForCausalLM": "language model", "LMHeadModel": "language model", "ForConditionalGeneration": "source and target",
    "MTModel": "source and target", "ForMaskedLM": "masked words", "ForSequenceClassification": "labels of texts",
    "ForTokenClassification": "labels of tokens", "ForQuestionAnswering": "spans", "ForPreTraining": "masked words",
    "ForImageClassification": "labels of images", "Model": "bare",
}  # fmt: skip


def families() -> str:
    rows = []
    for name, row in read("benchmarks/results/families.json").items():
        heads = [next(word for end, word in SUFFIXES.items() if one.endswith(end)) for one in row["architectures"]]
        gaps = [f"{row[key]:.0e}" for key in ("logits", "patterns")]
        same = [{True: "equal", False: "differ", None: "–"}[row[key]] for key in ("greedy", "tokenizer")]
        rows.append((f"`{name}`", ", ".join(dict.fromkeys(heads)), *gaps, *same))
    return table(HEADS, rows)


TABLES = {"families": families}
