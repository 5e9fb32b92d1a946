"""All rows of the bench, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable

from bench import categorical, drop_ins, files, frames, gaussian, memory, prose, spark, startup, stream, text
from bench.measure import Scale
from bench.result import Result

ROWS: list[Callable[[Scale], Result | None]] = [
    gaussian.gaussian_fit_float64,
    gaussian.gaussian_fit_float32,
    gaussian.gaussian_fit_f_order,
    gaussian.gaussian_predict,
    gaussian.gaussian_fit_1000_classes,
    gaussian.gaussian_predict_1000_classes,
    categorical.categorical_fit_int64,
    categorical.categorical_fit_uint8,
    categorical.categorical_predict_int64,
    categorical.categorical_predict_uint8,
    categorical.text_fit_pandas,
    categorical.text_fit_polars,
    text.multinomial_fit_20_classes,
    text.multinomial_fit_200_classes,
    prose.prose_fit_words,
    prose.prose_fit_auto,
    prose.prose_predict_words,
    prose.prose_predict_auto,
    prose.prose_memory_words,
    prose.prose_memory_auto,
    drop_ins.drop_in_gaussian_fit,
    drop_ins.drop_in_gaussian_predict,
    drop_ins.drop_in_categorical_fit,
    drop_ins.drop_in_categorical_predict,
    drop_ins.drop_in_complement_fit,
    drop_ins.drop_in_multinomial_predict,
    frames.mixed_fit_pandas,
    frames.mixed_fit_polars,
    files.files_fit_textbook,
    files.files_fit_auto,
    files.files_annotate,
    files.files_memory_textbook,
    files.files_memory_auto,
    stream.partial_fit_arrays,
    stream.partial_fit_pandas,
    stream.single_row_latency,
    memory.memory_of_fit_float64,
    memory.memory_of_fit_float32,
    memory.memory_of_fit_f_order,
    spark.spark_fit_gaussian,
    startup.import_is_light,
    startup.version_time,
    startup.first_demo,
    startup.first_iris,
    startup.frozen_answer,
    startup.slowest_round,
    startup.first_prose,
]
