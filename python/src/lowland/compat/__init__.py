"""Drop-in replacements of other packages' classes, with their parameters, defaults and attributes.

``lowland.compat.sklearn`` has the names of scikit-learn. Every parameter of the original is accepted, and honored or refused with
the reason.
"""
