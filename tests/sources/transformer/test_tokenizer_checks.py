"""A model needs its own tokenizer; words that it cannot read are counted."""

import warnings

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace
from transformers import PreTrainedTokenizerFast

from sk_metaembed import TransformerEmbedding

from ... import tiny_bert
from .test_families import Slow

SENTENCES = [["good", "king"], ["the", "film"], ["bad"]]


def test_a_folder_without_a_tokenizer(tmp_path):
    tiny_bert.save(tmp_path)
    for file in tmp_path.iterdir():
        if file.name not in ("config.json", "model.safetensors"):
            file.unlink()
    message = "has a model but no tokenizer|tokenizer .* could not be read"
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        TransformerEmbedding(tmp_path).fit(SENTENCES)
    tiny_bert.tokenizer().save_pretrained(tmp_path)
    assert TransformerEmbedding(tmp_path).fit(SENTENCES).coverage_["tokens"] == 1


def test_a_tokenizer_far_smaller_than_the_vocabulary():
    model = tiny_bert.network(vocab_size=3000), tiny_bert.tokenizer()
    message = "Tokenizer(Fast)? has 92 subwords, but the model's vocabulary has 3,000"
    with pytest.raises(ValueError, match=message):
        TransformerEmbedding(model).fit(SENTENCES)


def test_words_of_the_unknown_subword_are_counted_with_a_warning():
    foreign = Slow(tiny_bert.bert_tokenizer([*tiny_bert.SPECIAL, "東0", "東1"]))
    source = TransformerEmbedding((tiny_bert.network(), foreign), static=True)
    message = (
        r"5 of 5 tokens of the training fold, such as 'good', 'king', 'the', 'film', "
        r"'bad', are unknown to (BertTokenizer(Fast)?|Slow)"
    )
    with pytest.warns(UserWarning, match=message):
        contextual, static = source.fit_transform(SENTENCES).blocks
    assert source.coverage_ == {"types": 0.0, "tokens": 0.0}
    assert not static.known.any()
    # In context it has a vector still.
    assert contextual.known.all()


def test_the_mark_of_a_space_does_not_make_a_word_known():
    vocabulary = [
        ("<unk>", -9.0),
        ("\u2581", -3.0),
        ("\u2581good", -2.0),
        ("bad", -2.0),
    ]
    backend = Backend(Unigram(vocabulary, unk_id=0))
    backend.pre_tokenizer = Metaspace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    film = tokenizer("film", add_special_tokens=False)["input_ids"]
    assert tokenizer.convert_ids_to_tokens(film) == ["\u2581", "<unk>"]
    source = TransformerEmbedding((tiny_bert.network(vocab_size=4), tokenizer))
    assert source.fit([["good", "bad", "badfilm"]]).coverage_["tokens"] == 1
    with pytest.warns(UserWarning, match="2 of 2 tokens .* such as 'film', '', are"):
        source.fit([["film", ""]])


def test_words_count_as_the_texts_spell_them():
    words = [*tiny_bert.SPECIAL, "GOOD", "Film"]
    cased = tiny_bert.bert_tokenizer(words, lowercase=False)
    source = TransformerEmbedding((tiny_bert.network(), cased))
    texts = ["", "GOOD Film, bad", "GOOD Film"]
    with warnings.catch_warnings(action="error"):
        source.fit(texts)
    assert source.coverage_ == {"types": 2 / 3, "tokens": 4 / 5}
    with pytest.warns(UserWarning, match="5 of 5 tokens"):
        source.fit([text.lower().replace(",", "").split() for text in texts])
