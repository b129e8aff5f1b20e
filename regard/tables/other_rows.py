"""The same predictors with other training rows: networks and trees stay as they were trained, and attend to these."""

from dataclasses import replace

from regard.tables.calibrate import Calibration
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import Ensemble
from regard.tables.network.boosted_trees import BoostedTreesPredictor
from regard.tables.network.in_context import ClosedFormCache, InContextPredictor
from regard.tables.network.learned_keys import LearnedKeysPredictor
from regard.tables.predictor import Predictor


def with_rows(predictor: Predictor, table: EncodedTable, seed: int) -> Ensemble:
    """An ensemble whose predictors have the rows of `table` instead of their own."""
    assert isinstance(predictor, Ensemble), f"cannot change the rows of a {type(predictor).__name__}"
    cache = ClosedFormCache()
    predictors = [_part_with_rows(part, table, seed, cache) for part in predictor.predictors]
    calibration = replace(predictor.calibration, sign=Calibration.of_target(table).sign)
    return replace(predictor, predictors=predictors, calibration=calibration)


def _part_with_rows(part: Predictor, table: EncodedTable, seed: int, cache: ClosedFormCache) -> Predictor:
    if isinstance(part, InContextPredictor):
        return InContextPredictor(part.model, table, part.settings, seed, cache)
    if isinstance(part, LearnedKeysPredictor):
        return LearnedKeysPredictor(part.model, table, part.seed)
    assert isinstance(part, BoostedTreesPredictor), f"cannot change the rows of a {type(part).__name__}"
    return BoostedTreesPredictor(part.trees, part.levels, part.residuals, table)
