"""What translating and summarising share: a model that reads one text and writes another."""
