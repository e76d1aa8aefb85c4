"""The base classes of scikit-learn, which has no types of its own, with the types of what users call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    class SklearnTransformer:
        """What every transformer of scikit-learn has."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""
            ...

        def set_params(self, **params: Any) -> Self:
            """Set parameters."""
            ...

        def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self:
            """Choose what ``transform`` and ``fit_transform`` return."""
            ...

        def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
            """Return the names of the dimensions."""
            ...

        def get_metadata_routing(self) -> Any:
            """Return the metadata routing of this object."""
            ...

        def __sklearn_tags__(self) -> Any: ...

else:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

    class SklearnTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
        """Base classes of all estimators."""
