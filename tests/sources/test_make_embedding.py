"""make_embedding chooses the class by a model's files; wrong classes name the right."""

import numpy as np
import pytest

from sk_metaembed import (
    PretrainedEmbedding,
    StaticSubwordEmbedding,
    TransformerEmbedding,
    WordVectors,
    make_embedding,
)

from .. import tiny_bert, tiny_encoder, tiny_static

TEXTS = ["the film was good", "good king"]


@pytest.fixture
def places(tmp_path):
    vectors = WordVectors.from_arrays(["good", "film"], np.eye(2))
    path = tmp_path / "vectors.txt"
    path.write_text("good 1 0\nfilm 0 1\n")
    encoder = tiny_encoder.save(tmp_path / "a", steps=[tiny_encoder.pooling("cls")])
    static = tiny_static.save_sentence_encoder(tmp_path / "sentence")
    older = tiny_static.save(tmp_path / "older", config={"apply_zipf": True})
    return {
        "bert": (tiny_bert.folder(), TransformerEmbedding),
        "encoder": (encoder, TransformerEmbedding),
        "pair": ((tiny_bert.network(), tiny_bert.tokenizer()), TransformerEmbedding),
        "model2vec": (tiny_static.save(tmp_path / "m2v"), StaticSubwordEmbedding),
        "older model2vec": (older, StaticSubwordEmbedding),
        "StaticEmbedding": (static, StaticSubwordEmbedding),
        "file": (path, PretrainedEmbedding),
        "store": (vectors.path, PretrainedEmbedding),
        "vectors": (vectors, PretrainedEmbedding),
    }


def test_the_class_follows_from_the_files(places):
    for name, (model, expected) in places.items():
        source = make_embedding(model)
        assert type(source) is expected, name
        assert source.fit_transform(TEXTS).blocks[0].values.any(), name
    assert make_embedding(places["StaticEmbedding"][0]).output == "mean"
    assert make_embedding(places["file"][0], oov="mean").oov == "mean"
    assert make_embedding(places["bert"][0], output="cls").output == "cls"


def test_a_wrong_class_says_which_is_right(places):
    for name in ("bert", "encoder", "model2vec", "StaticEmbedding", "store"):
        model, right = places[name]
        message = rf"{right.__name__}\(folder.*make_embedding\(folder\)"
        for wrong in {kind for _, kind in places.values()} - {right}:
            with pytest.raises((ValueError, FileNotFoundError), match=message):
                wrong(str(model)).fit(TEXTS)


def test_folders_without_a_model_raise(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"no model of a known kind.*\['notes.txt'\]"):
        (tmp_path / "notes.txt").write_text("nothing")
        make_embedding(tmp_path)
    with pytest.raises(FileNotFoundError, match="No such file"):
        make_embedding(tmp_path / "missing").fit(TEXTS)


def test_a_name_is_looked_up_on_the_hub(places, monkeypatch):
    import huggingface_hub

    asked = []

    def download(name, allow_patterns, revision):
        asked.append((revision, allow_patterns))
        if name == "somebody/missing":
            raise OSError("no network")
        return places[name.partition("/")[2]][0]

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    for name in ("bert", "model2vec", "StaticEmbedding"):
        source = make_embedding(f"somebody/{name}", revision="v2")
        assert type(source) is places[name][1]
    small = ["modules.json", "config.json", "router_config.json"]
    assert asked == [("v2", [*small, "*/router_config.json"])] * 3
    with pytest.raises(FileNotFoundError, match="could not be downloaded .*no network"):
        make_embedding("somebody/missing")
    assert isinstance(make_embedding("glove-wiki-gigaword-50"), PretrainedEmbedding)
