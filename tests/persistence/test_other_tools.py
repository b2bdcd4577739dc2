"""skops and MLflow can save and load the estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors

WORDS = ["a", "fine", "sad", "film", "plot"]
TEXTS = ["a fine film", "a sad film", "a fine plot", "a sad plot"] * 5


@pytest.fixture
def pipe(tmp_path):
    rng = np.random.default_rng(0)
    words = [*WORDS, *(f"w{i}" for i in range(5000))]
    matrix = rng.normal(size=(len(words), 20))
    vectors = WordVectors.from_arrays(words, matrix, path=tmp_path / "vectors.store")
    steps = Tokenizer(), PretrainedEmbedding(vectors), Pooling(), LogisticRegression()
    return make_pipeline(*steps).fit(TEXTS, [1, 0] * 10)


def test_skops_keeps_a_pipeline_small(pipe, tmp_path):
    from skops import io as skops_io

    path = tmp_path / "model.skops"
    skops_io.dump(pipe, path)
    assert path.stat().st_size < 100_000  # the vectors have 400,000
    trusted = skops_io.get_untrusted_types(file=path)
    result = skops_io.load(path, trusted=trusted)
    expected = pipe.predict_proba(TEXTS)
    np.testing.assert_array_equal(result.predict_proba(TEXTS), expected)
    assert result[1].vectors == pipe[1].vectors
    # The map of the store is shared.
    assert np.shares_memory(result[1].vectors.vectors, pipe[1].vectors.vectors)


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield mlflow
    mlflow.set_tracking_uri(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow")
@pytest.mark.filterwarnings("ignore::FutureWarning:mlflow")
def test_mlflow_logs_and_reads_its_default_format(mlflow, pipe, tmp_path):
    from skops import io as skops_io

    with pytest.raises(mlflow.MlflowException, match="skops_trusted_types"):
        mlflow.sklearn.save_model(pipe, tmp_path / "m", pip_requirements=[])
    frame = pd.DataFrame({"text": TEXTS})
    expected = pipe.predict(TEXTS)
    signature = mlflow.models.infer_signature(frame, expected)
    assert signature.inputs.input_names() == ["text"]
    with mlflow.start_run():
        info = mlflow.sklearn.log_model(
            pipe,
            name="model",
            signature=signature,
            input_example=frame[:2],
            skops_trusted_types=skops_io.get_untrusted_types(data=skops_io.dumps(pipe)),
            pip_requirements=[],  # to infer them takes a process and its imports
        )
    assert info.flavors["sklearn"]["serialization_format"] == "skops"
    result = mlflow.sklearn.load_model(info.model_uri)
    np.testing.assert_array_equal(result.predict(TEXTS), expected)
    assert result[1].vectors == pipe[1].vectors
    served = mlflow.pyfunc.load_model(info.model_uri)
    np.testing.assert_array_equal(served.predict(frame), expected)
    with pytest.raises(mlflow.MlflowException, match="missing inputs"):
        served.predict(pd.DataFrame({"other": TEXTS}))
