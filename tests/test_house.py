"""The house keeps its shape: short files and functions, one direction of imports, a trainer that stands alone."""

from tests import house


def test_no_file_is_longer_than_300_lines() -> None:
    assert house.longest_file().value <= 300, house.longest_file()


def test_no_function_is_longer_than_50_lines() -> None:
    assert house.longest_function().value <= 50, house.longest_function()


def test_no_signature_is_wider_than_eight_parameters() -> None:
    assert house.widest_signature().value <= 8, house.widest_signature()


def test_no_modules_import_each_other() -> None:
    assert house.import_cycles() == []


def test_the_training_loop_imports_no_model_no_task_and_no_folder() -> None:
    modules = house.imported_by_the_loop()
    assert len(modules) <= 45, modules
    rooms = {module.split(".")[1] for module in modules if "." in module}
    assert rooms == {"core", "train"}


def test_nobody_asks_for_the_class_of_a_task_or_model_where_that_is_not_their_job() -> None:
    assert house.asked_elsewhere() == []
