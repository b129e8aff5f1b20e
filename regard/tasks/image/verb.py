"""`regard train image`; `regard classify` uses its runs."""

from pathlib import Path

from regard.tasks.options import Changes, TrainOptions, columns_setting, strings


def train_image(
    options: TrainOptions,
    *,
    train: tuple[Path, ...],
    valid: tuple[Path, ...] = (),
    columns: tuple[str, ...] = (),
    changes: Changes = None,
) -> int:
    """Train a Vision Transformer that classifies your own images, for `regard classify`.

    Any setting can be changed with a dotted option, such as --model.image 64 or --data.augment.flip 0.5;
    --show-settings prints them all.

    Parameters
    ----------
    train
        A folder with a sub-folder of images for each class; or one of idx files (train-images-idx3-ubyte.gz, …); or an
        .npz with the arrays images and labels; or a file with a path and a label in each row (.csv, .tsv, .jsonl); or
        Parquet files or a `datasets` folder with images and labels.
    valid
        Validation images of the same form; without them a tenth of the images is held out.
    columns
        Names of the image and label columns of a data set, if they are not named image and label.
    """
    from regard.tasks.image.recipe import image_classifier

    return options.train(
        image_classifier(strings(train), strings(valid)), {**columns_setting(columns), **(changes or {})}
    )


TRAIN = {"image": train_image}
