"""Colours of curves: seen on their background, and told from one another by everybody."""

from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest

from polyroc._lib.axes import COLOURS_ON_DARK, COLOURS_ON_LIGHT
from polyroc.report._figures import DARK, LIGHT

# Machado, Oliveira and Fernandes (2009): what is left of linear colours without one kind of cones.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    share = np.array(mpl.colors.to_rgb(colour))
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    dark, light = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(colour, sight):
    """CIELAB of a colour as somebody sees it."""
    xyz = TO_XYZ @ np.clip(np.array(SIGHTS[sight]) @ linear(colour), 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(np.maximum(xyz, 1e-12)), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(
    ("colours", "papers"),
    [
        (COLOURS_ON_LIGHT, ("white", LIGHT["paper"], LIGHT["raised"])),
        (COLOURS_ON_DARK, ("black", DARK["paper"], DARK["raised"])),
    ],
)
def test_every_colour_stands_out_from_its_background(colours, papers):
    found = {(colour, paper): contrast(colour, paper) for colour in colours for paper in papers}
    assert min(found.values()) >= 3, found


@pytest.mark.parametrize("colours", [COLOURS_ON_LIGHT, COLOURS_ON_DARK])
@pytest.mark.parametrize("sight", SIGHTS)
def test_no_two_colours_are_alike_to_anybody(colours, sight):
    # Two of the eight colours of Okabe and Ito are 16 apart for somebody; that is the measure.
    apart = {pair: np.linalg.norm(lab(pair[0], sight) - lab(pair[1], sight)) for pair in combinations(colours, 2)}
    assert min(apart.values()) > 16, min(apart, key=apart.get)
