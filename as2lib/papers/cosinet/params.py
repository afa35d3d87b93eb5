"""Cosinet's section of a study's file."""

from typing import Literal

from pydantic import Field, model_validator

from as2lib.runs.params import Drop, Seeds, Strict, Training, Width


class Vectors(Strict):
    """Static word vectors: of a text file, of single words in a sentence encoder, or of the study's own text."""

    source: Literal["file", "encoder", "ppmi"]
    name: str | None = Field(None, min_length=1, description="the file, or the encoder's hub name or folder")
    dimensions: Width = 300

    @model_validator(mode="after")
    def _named(self) -> "Vectors":
        if (self.name is None) != (self.source == "ppmi"):
            raise ValueError("expected a name for file and encoder, and none for ppmi")
        return self

    def said(self) -> str:
        """What a caption says of vectors that a transformer made; empty where none did."""
        if self.source != "encoder":
            return ""
        return (
            f"Word vectors are {self.name}'s, made of one word at a time and looked up: that encoder counts neither "
            "among the parameters nor among the operations of models without a transformer."
        )


class Cosinet(Strict):
    """The Cosinet paper's models; list-wise batches count questions, point-wise ones pairs."""

    vectors: Vectors
    hidden: Width = Field(300, description="filters of a convolution")
    dropout: Drop = Field(0.0, description="on the pair vectors")
    pointwise: Training
    listwise: Training
    seeds: Seeds = Field(min_length=1)
    ca_seeds: Seeds | None = Field(None, min_length=1, description="of Compare-Aggregate; default: seeds")
    ca_listwise: Training | None = Field(None, description="of Compare-Aggregate; default: listwise")
