"""What every other room stands on: words for shapes, configs, the machine, errors."""
