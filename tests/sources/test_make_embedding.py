"""make_embedding chooses the class by a model's files; wrong classes name the right."""

import copy
import json
import pickle
import shutil
import sys
import zipfile

import numpy as np
import pytest
from sklearn.base import clone

from sk_metaembed import (
    ElmoEmbedding,
    PretrainedEmbedding,
    StaticSubwordEmbedding,
    TransformerEmbedding,
    WordVectors,
    load,
    make_embedding,
    save,
)

from .. import tiny_bert, tiny_elmo, tiny_encoder, tiny_static

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
    small = ["modules.json", "config.json", "*/config.json", "router_config.json"]
    assert asked == [("v2", [*small, "*/router_config.json"])] * 3
    with pytest.raises(FileNotFoundError, match="could not be downloaded .*no network"):
        make_embedding("somebody/missing")
    assert isinstance(make_embedding("glove-wiki-gigaword-50"), PretrainedEmbedding)


def test_models_in_memory(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    folder = tiny_static.save(tmp_path / "m")
    model = model2vec.StaticModel.from_pretrained(folder)
    source = make_embedding(model, dim=4)
    assert isinstance(source, StaticSubwordEmbedding)
    shared = clone(source)
    assert shared.model is model
    model.embedding = model.embedding * 2  # before fit
    expected = model2vec.StaticModel.from_pretrained(folder, dimensionality=4)
    expected.embedding = expected.embedding * 2
    expected = expected.encode(TEXTS)
    rows = source.fit_transform(TEXTS)
    np.testing.assert_allclose(rows.blocks[0].values, expected, atol=1e-6)
    model.embedding = model.embedding * 0  # after it
    copies = [
        pickle.loads(pickle.dumps(source)),
        copy.deepcopy(source),
        load(save(source, tmp_path / "a.skm")),
    ]
    for other in copies:
        assert other.transform(TEXTS) == rows
    unfitted = pickle.loads(pickle.dumps(shared))
    assert not unfitted.fit_transform(TEXTS).blocks[0].values.any()
    with pytest.raises(ValueError, match=r"dim=7, but .* 6 dimensions"):
        make_embedding(model, dim=7).fit(TEXTS)
    with pytest.raises(TypeError, match="or a SentenceTransformer; got .*Encoder"):
        StaticSubwordEmbedding(Encoder()).fit(TEXTS)
    with pytest.raises(TypeError, match=r"got \['Encoder'\].*FunctionEmbedding"):
        TransformerEmbedding(Encoder()).fit(TEXTS)


class Encoder:
    """An encoder of another library."""

    def encode(self, texts):
        raise NotImplementedError

    def state_dict(self):
        raise NotImplementedError


@pytest.mark.parametrize("name", ["Word2Vec", "FastText"])
def test_models_of_gensim_in_memory(name):
    models = pytest.importorskip("gensim.models")
    sentences = [text.split() for text in TEXTS]
    options = {"vector_size": 4, "min_count": 1, "workers": 1, "seed": 0}
    model = getattr(models, name)(sentences, **options)
    for given in (model, model.wv):
        source = make_embedding(given)
        assert isinstance(source, PretrainedEmbedding)
        values = source.fit_transform([["good", "film"]]).blocks[0].values
        np.testing.assert_allclose(values, model.wv[["good", "film"]], atol=1e-6)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("onnx/model.onnx", "ONNX"),
        ("openvino/openvino_model.xml", "OpenVINO"),
        ("model-Q4_K.gguf", "GGUF"),
        ("tf_model.h5", "TensorFlow"),
        ("flax_model.msgpack", "Flax"),
        ("weights.th", "AllenNLP"),
    ],
)
def test_weights_in_other_formats_are_named(tmp_path, file, name):
    folder = tiny_encoder.save(tmp_path, steps=[tiny_encoder.pooling("mean")])
    (folder / "model.safetensors").unlink()
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(b"weights")
    message = rf"as {name} only \({file}\).*Use the folder of the original model"
    with pytest.raises(ValueError, match=message):
        make_embedding(folder).fit(TEXTS)
    if file.endswith((".gguf", ".onnx", ".th")):
        with pytest.raises(ValueError, match="is a file of weights"):
            make_embedding(folder / file)


def test_an_adapter_is_never_ignored(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)  # not installed
    folder = tiny_encoder.save(tmp_path, steps=[tiny_encoder.pooling("mean")])
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "org/base"}
    (folder / "adapter_config.json").write_text(json.dumps(adapter))
    message = r"has a LORA adapter of 'org/base', not a whole model.*merge_and_unload"
    with pytest.raises(ValueError, match=message):  # beside the weights of the base
        make_embedding(folder).fit(TEXTS)
    (folder / "modules.json").unlink()
    (folder / "config.json").unlink()
    with pytest.raises(ValueError, match=message):
        make_embedding(folder).fit(TEXTS)


class TestElmo:
    """Folders and zip archives of ELMo, by the names that its writers use."""

    NAMES = (
        ("options.json", "weights.hdf5"),  # ours, and bilm-tf
        ("options.json", "model.hdf5"),  # NLPL
        ("elmo_2x1024_options.json", "elmo_2x1024_weights.hdf5"),  # AllenNLP
        ("options.json", "some.hdf5"),
    )

    @pytest.fixture
    def files(self, tmp_path):
        return tiny_elmo.write(tmp_path / "origin")

    @pytest.fixture(autouse=True)
    def cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path / "cache"))

    @pytest.mark.parametrize("names", NAMES)
    def test_folders_and_archives(self, tmp_path, files, names):
        expected = ElmoEmbedding(*files).fit_transform(TEXTS)
        folder = tmp_path / "model"
        folder.mkdir()
        for file, name in zip(files, names, strict=True):
            shutil.copy(file, folder / name)
        (folder / "vocab.txt").write_text("the\n")
        (folder / "elmo_token_embeddings.txt").write_text("")
        archives = [tmp_path / "206.zip", tmp_path / "nested.zip"]
        for path, start in zip(archives, ["", "206/"], strict=True):
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in folder.iterdir():
                    archive.write(file, start + file.name)
        for place in (folder, *archives):
            source = make_embedding(place)
            assert isinstance(source, ElmoEmbedding)
            assert source.fit_transform(TEXTS) == expected
            for other in (
                clone(source).fit(TEXTS),
                pickle.loads(pickle.dumps(source)),
                load(save(source, tmp_path / "a.skm", bundle=True)),
                load(save(source, tmp_path / "a.skm", bundle=False)),
            ):
                assert other.transform(TEXTS) == expected
        assert make_embedding(folder, layers=(1,)).layers == (1,)

    def test_others_are_named(self, tmp_path, files):
        def fails(match, error=ValueError, place=files[0].parent):
            with pytest.raises(error, match=match):
                make_embedding(place).fit(TEXTS)

        folder = files[0].parent
        for end in ("options.json", "weights.hdf5"):
            shutil.copy(folder / end, folder / f"small_{end}")
        fails(r"several models of ELMo.*Pass the options and the weights of one")
        for path in folder.glob("*.hdf5"):
            path.unlink()
        fails(
            "no pair of ELMo's options.json and an HDF5.*dump_weights",
            FileNotFoundError,
        )
        other = tmp_path / "many"
        other.mkdir()
        for name in ("char.dic", "encoder.pkl", "config.json"):
            (other / name).write_text("{}")
        message = "model of ELMoForManyLangs.*stores its weights in pickles"
        fails(message, place=other)
        with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
            archive.writestr("144/char.dic", "")
        fails(message, place=tmp_path / "many.zip")
        with pytest.raises(ValueError, match=r"options.json is not a zip archive"):
            ElmoEmbedding(folder / "options.json").fit(TEXTS)
        with pytest.raises(FileNotFoundError, match="no folder or zip archive"):
            ElmoEmbedding(tmp_path / "missing").fit(TEXTS)

    def test_corrupt_archives(self, tmp_path, files, limit_of_bombs):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                archive.write(file, file.name)
        content = bytearray(path.read_bytes())
        at = content.index(files[1].read_bytes()[:64]) + 200
        content[at] ^= 255
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a.zip is corrupt: Bad CRC-32"):
            make_embedding(path).fit(TEXTS)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
            archive.write(files[0], "options.json")
            archive.writestr("model.hdf5", bytes(1 << 20))
        limit_of_bombs(1 << 16)
        with pytest.raises(ValueError, match="1,048,576 bytes, too many"):
            make_embedding(path).fit(TEXTS)


@pytest.mark.parametrize(
    ("package", "match"),
    [
        ("spacy.lang.en", r"got Model. .*nlp.to_disk\(folder\), and pass the folder"),
        ("floret.floret", r"got Model. .*model.save_model\(file\), and pass the file"),
        ("gensim.models.word2vec", "got Model. .*from_arrays"),
    ],
)
def test_models_of_words_in_memory_name_the_way_in(package, match):
    model = type("Model", (), {"__module__": package})()
    with pytest.raises(TypeError, match=match):
        make_embedding(model).fit([["tea"]])
    with pytest.raises(TypeError, match="from_arrays"):
        make_embedding({"tea": [1.0, 2.0]}).fit([["tea"]])
