"""The report, as bytes and as a browser shows it."""

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest

from chromium import Chromium
from noisykmeans import NoisyKMeans, noise
from noisykmeans.datasets import make_mod2
from noisykmeans.report import render, write
from noisykmeans.report.tables import readable, shares

_, Z, _ = make_mod2(3, 300, random_state=0)
LAW = noise.Gaussian(3**0.5)


@pytest.fixture(scope="module")
def model():
    frame = pd.DataFrame(Z, columns=["height", "width"])
    model = NoisyKMeans(3, noise=LAW, deconvolution="kernel", random_state=0).fit(frame)
    model.center_std_errors_ = np.full((3, 2), [0.25, 0.5])
    return model


@pytest.fixture(scope="module")
def page_of(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    model.report(path, Z)
    return path


@pytest.fixture(scope="module")
def browser():
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture
def page(browser, page_of):
    browser.prefer("light")
    browser.size(1400)
    browser.open(page_of)
    browser.run("localStorage.clear()")
    return browser


def sent(text):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(data)


def clusters(text):
    """The table of the clusters."""
    (table,) = re.findall(r'<table id="clusters">(.*?)</table>', text, re.DOTALL)
    head = re.findall(r'<th scope="col">(.*?)</th>', table)
    values = [float(value) for value in re.findall(r'data-value="(.*?)"', table)]
    return pd.DataFrame(np.reshape(values, (-1, len(head))), columns=head)


def in_five_dimensions(k):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(mean, 1, size=(80, 5)) for mean in np.eye(5)[:k] * 8])


def test_page_is_small_and_whole(page_of):
    text = page_of.read_text(encoding="utf-8")
    assert len(text) < 200_000
    assert not re.findall(r"https?://|src=|@import|url\(", text)
    assert "default-src 'none'" in text


def test_table_has_centers_errors_and_shares(model, page_of):
    table = clusters(page_of.read_text(encoding="utf-8"))
    assert list(table.columns) == [
        "cluster",
        "share of clean points",
        "observations",
        "height",
        "± height",
        "width",
        "± width",
    ]
    np.testing.assert_array_equal(table["± width"], 0.5)
    np.testing.assert_array_equal(table["observations"], np.bincount(model.labels_))
    np.testing.assert_allclose(table["height"], model.cluster_centers_[:, 0], rtol=1e-9)


def test_shares_are_those_of_the_density(model):
    masses, _ = model.density_.cell_moments(model.cluster_centers_)
    np.testing.assert_allclose(shares(model), masses / masses.sum())
    assert shares(NoisyKMeans(2, random_state=0).fit(Z)) is None


def test_settings_versions_and_facts_are_told(model):
    text = render(model, Z, title="My <fit>", facts={"File": "a&b.csv"})
    for expected in [
        "My &lt;fit&gt;",
        "a&amp;b.csv",
        repr(LAW),
        np.__version__,
        "&#x27;kernel&#x27;",
        "kernel estimate, bandwidth",
    ]:
        assert expected in text


def test_names_cannot_end_the_script():
    wicked = "</script><script>alert(1)"
    frame = pd.DataFrame(Z, columns=[wicked, "width"])
    text = render(NoisyKMeans(2, noise=LAW, random_state=0).fit(frame), frame)
    assert wicked not in text
    assert sent(text)["axes"] == [wicked, "width"]


def test_density_that_is_sent_is_that_of_the_model(model):
    field = sent(render(model, Z))["density"]["0,1"]
    values = np.frombuffer(base64.b64decode(field["values"]), "<u2")
    mass = values.sum() / 65535 * field["top"] * np.prod(field["spacing"])
    assert mass == pytest.approx(1, abs=1e-3)
    assert max(field["shape"]) <= 160


def test_numbers_of_steps_that_were_compared_are_sent():
    model = NoisyKMeans(2, noise=LAW, bandwidth="renoise", deconvolution="em", random_state=0)
    criterion = sent(render(model.fit(Z)))["criterion"]
    assert criterion["quantity"] == "number of steps"
    assert [row[0] for row in criterion["candidates"]] == [1, 2, 4, 8, 16, 32, 64, 128]


def test_digits_tell_places_apart_whatever_their_offset():
    offset = 1e9
    far = Z + offset
    model = NoisyKMeans(2, noise=LAW, random_state=0).fit(far)
    text = render(model, far)
    points = sent(text)["points"]
    x = np.frombuffer(base64.b64decode(points["columns"][0]), "<f4").astype(float)
    x += points["origin"][0]
    np.testing.assert_allclose(x, far[:, 0], rtol=0, atol=1e-3)
    table = clusters(text)["feature 0"]
    np.testing.assert_allclose(table, model.cluster_centers_[:, 0], rtol=0, atol=0.01)
    (first, second) = [row[0] for row in readable(model.cluster_centers_)]
    assert abs(float(first) - model.cluster_centers_[0, 0]) < 0.01
    assert first != second


def test_without_observations_their_histogram_is_drawn(model):
    data = sent(render(model))
    assert data["points"] is None
    assert set(data["observed"]) == {"0", "1", "0,1"}


def test_many_observations_are_thinned():
    many = np.random.default_rng(0).normal(size=(100_000, 2))
    model = NoisyKMeans(2, noise=noise.Gaussian(0.2), random_state=0).fit(many)
    text = render(model, many)
    assert len(text) < 500_000
    assert sent(text)["points"]["rows"][:3] == [0, 25, 50]
    assert "Every 25th observation is drawn" in text


def test_components_are_offered_beside_features():
    X = in_five_dimensions(3)
    model = NoisyKMeans(3, noise=noise.Gaussian(0.5), random_state=0).fit(X)
    data = sent(render(model, X))
    assert data["axes"] == [*(f"feature {v}" for v in range(5)), "component 0", "component 1"]
    assert data["shown"] == [5, 6]
    assert data["exact"] == ["5,6"]
    assert set(data["density"]) == {"5", "6", "5,6"}
    np.testing.assert_allclose(
        np.array(data["centers"])[:, 5:], model.cluster_centers_ @ model.components_.T, rtol=1e-6
    )


def test_k_means_without_errors_has_a_report_too():
    model = NoisyKMeans(2, random_state=0).fit(Z)
    text = render(model, Z)
    assert sent(text)["density"] is None
    assert 'data-layer="density"' not in text
    assert "no errors were given" in text


def test_existing_file_is_replaced_only_when_asked(model, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"page.html exists: give overwrite=True"):
        model.report(path, Z)
    assert path.read_text() == "mine"
    model.report(path, Z, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_report_of_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        NoisyKMeans(2).report(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_browser_reports_no_error_and_asks_for_nothing(page, page_of):
    assert page.messages == []
    assert page.requests == [page_of.as_uri()]


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_is_wider_than_the_window(page, width):
    page.size(width)
    page.settle()
    assert page.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    outside = """[...document.querySelectorAll("section, header, h1, button, select, canvas")]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5).length"""
    assert page.run(outside) == 0


def colours(page):
    """How many pixels of the main picture are not of its background."""
    return page.run("""(() => {
        const c = document.querySelector("#partition canvas");
        const p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        let n = 0;
        for (let i = 0; i < p.length; i += 4)
            n += Math.abs(p[i] - p[0]) + Math.abs(p[i + 1] - p[1]) + Math.abs(p[i + 2] - p[2]) > 40;
        return n;
    })()""")


def test_each_layer_can_be_taken_away(page):
    for layer in ["cells", "density", "centers", "observations"]:
        before = colours(page)
        page.run(f"document.querySelector('[data-layer={layer}]').click()")
        page.settle()
        assert colours(page) < before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_follows_the_system_and_the_button_turns_it(page, page_of, theme):
    page.prefer(theme)
    page.open(page_of)
    assert page.run("document.documentElement.dataset.theme") == theme
    back = "getComputedStyle(document.body).backgroundColor"
    before = page.run(back)
    page.run("document.getElementById('theme').click()")
    assert page.run("document.documentElement.dataset.theme") != theme
    assert page.run(back) != before
    page.open(page_of)
    assert page.run("document.documentElement.dataset.theme") != theme


def contrast(page, selector):
    """The ratio of luminances of a text and its ground, as WCAG has it."""
    text, ground = page.run(f"""(() => {{
        const e = document.querySelector("{selector}");
        let g = e;
        while (getComputedStyle(g).backgroundColor === "rgba(0, 0, 0, 0)") g = g.parentElement;
        return [getComputedStyle(e).color, getComputedStyle(g).backgroundColor];
    }})()""")

    def luminance(colour):
        rgb = np.array(re.findall(r"\d+", colour)[:3], dtype=float) / 255
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(text), luminance(ground)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_stand_out(page, page_of, theme):
    page.prefer(theme)
    page.open(page_of)
    for selector in ["h1", ".soft", "thead th", "table.facts th", "button", "footer"]:
        assert contrast(page, selector) >= 4.5


def test_mouse_reads_a_center_with_its_error(page, model):
    page.run("document.querySelector('[data-layer=observations]').click()")
    box = list(map(float, page.run("document.querySelector('canvas').dataset.box").split()))
    left, top, w, h = page.run("""(() => {
        const r = document.querySelector("#partition canvas").getBoundingClientRect();
        return [r.left, r.top, r.width, r.height];
    })()""")
    x, y = model.cluster_centers_[1]
    px = left + 58 + (x - box[0]) / (box[1] - box[0]) * (w - 70)
    py = top + h - 44 - (y - box[2]) / (box[3] - box[2]) * (h - 56)
    page.mouse("mouseMoved", px, py)
    tip = page.run("document.querySelector('#partition .tip').textContent")
    assert tip.splitlines()[0] == "center of cluster 1"
    assert tip.endswith("± 0.5")


def span(page, name="partition"):
    box = page.run(f"document.querySelector('#{name} canvas').dataset.box")
    a, b, c, d = map(float, box.split())
    return b - a, d - c


def test_keyboard_reads_moves_and_zooms(page):
    page.run("document.querySelector('#partition canvas').focus()")
    whole = span(page)
    page.press("ArrowRight")
    told = page.run("document.querySelector('#partition [aria-live]').textContent")
    assert "height = " in told
    page.press("+")
    assert np.divide(span(page), whole) == pytest.approx([2 / 3, 2 / 3], rel=1e-3)
    before = page.run("document.querySelector('#partition canvas').dataset.box")
    page.press("ArrowRight", shift=True)
    assert page.run("document.querySelector('#partition canvas').dataset.box") != before
    page.press("0")
    assert span(page) == whole
    page.press("Escape")
    assert page.run("document.querySelector('#partition .tip').hidden")


def test_everything_is_reached_by_tab(page):
    page.run("document.activeElement.blur()")
    reached = []
    for _ in range(30):
        page.press("Tab")
        reached.append(page.run("document.activeElement.outerHTML.slice(0, 60)"))
        if reached[-1].startswith("<body"):
            break
    every = page.run(
        "document.querySelectorAll('button, select, input, canvas[tabindex], .scroll').length"
    )
    assert len(set(reached) - {"<body"}) >= 13
    assert len([tag for tag in reached if not tag.startswith("<body")]) == every


def test_buttons_zoom_each_picture(page):
    for name in ["partition", "criterion"]:
        whole = span(page, name)
        press = (
            f"document.getElementById('{name}').parentElement.querySelector('[data-zoom=\"{{}}\"]')"
        )
        page.run(press.format("1.5") + ".click()")
        assert np.divide(span(page, name), whole) == pytest.approx([2 / 3, 2 / 3], rel=1e-3)
        page.run(press.format("0") + ".click()")
        assert span(page, name) == whole


def test_wheel_scrolls_the_page_until_the_picture_is_chosen(page):
    whole = span(page)
    page.mouse("mouseWheel", 600, 300, deltaX=0, deltaY=-100)
    assert span(page) == whole
    page.run("document.querySelector('#partition canvas').focus()")
    page.mouse("mouseWheel", 600, 300, deltaX=0, deltaY=-100)
    assert span(page)[0] < whole[0]


def test_table_is_copied_as_spreadsheets_take_it(page, model):
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.run("document.querySelector('[data-copy=clusters]').click()")
    page.settle()
    head, *rows = [line.split("\t") for line in page.run("window.copied").split("\n")]
    assert head[3:] == ["height", "± height", "width", "± width"]
    found = np.array([[float(row[3]), float(row[5])] for row in rows])
    np.testing.assert_allclose(found, model.cluster_centers_, rtol=1e-9)
    words = page.run("document.querySelector('[data-copy=clusters]').textContent")
    assert words == "Copied"


def test_long_names_do_not_widen_the_page(browser, tmp_path):
    X = in_five_dimensions(3)
    frame = pd.DataFrame(X, columns=[f"a_rather_long_name_of_a_feature_{v}" for v in range(5)])
    path = tmp_path / "page.html"
    write(NoisyKMeans(3, noise=noise.Gaussian(0.5), random_state=0).fit(frame), path, frame)
    browser.size(360)
    browser.open(path)
    root = "document.documentElement"
    assert browser.run(f"{root}.scrollWidth <= {root}.clientWidth")


def test_axes_can_be_chosen(browser, tmp_path):
    X = in_five_dimensions(4)
    path = tmp_path / "page.html"
    write(NoisyKMeans(4, noise=noise.Gaussian(0.5), random_state=0).fit(X), path, X)
    browser.size(1000)
    browser.open(path)
    for x, y in [(0, 3), (3, 0), (2, -1), (5, 7), (6, 6)]:
        browser.run(f"""for (const [name, value] of [["x", {x}], ["y", {y}]]) {{
            const menu = document.getElementById("axis-" + name);
            menu.value = value; menu.dispatchEvent(new Event("change"));
        }}""")
        browser.settle()
        assert colours(browser) > 2000
    assert browser.messages == []


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_density_is_read_where_the_cross_is(page, model, axes):
    page.run("document.querySelector('[data-layer=observations]').click()")
    page.run(f"""for (const [name, value] of [["x", {axes[0]}], ["y", {axes[1]}]]) {{
        const menu = document.getElementById("axis-" + name);
        menu.value = value; menu.dispatchEvent(new Event("change"));
    }}
    document.querySelector("#partition canvas").focus();""")
    for key in ["ArrowRight", "ArrowUp", "ArrowUp"]:
        page.press(key)
    told = page.run("document.querySelector('#partition [aria-live]').textContent")
    found = dict(line.split(" = ") for line in told.splitlines() if " = " in line)
    assert list(found)[:2] == [["height", "width"][axis] for axis in axes]
    place = [float(found[name].replace("\N{MINUS SIGN}", "-")) for name in ("height", "width")]
    assert float(found["density"]) == pytest.approx(model.density_([place])[0], rel=0.02)
    assert page.messages == []


def test_one_feature_without_observations_is_drawn(browser, tmp_path):
    model = NoisyKMeans(2, noise=noise.Gaussian(0.5), random_state=0).fit(Z[:, :1])
    path = tmp_path / "page.html"
    model.report(path)
    browser.size(1000)
    browser.open(path)
    assert colours(browser) > 2000
    assert browser.messages == []


def test_columns_in_another_order_and_other_shapes_are_not_drawn(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["x", "y"])
    fitted = NoisyKMeans(2, noise=noise.Gaussian(0.1), random_state=0).fit(frame)
    with pytest.raises(ValueError, match="feature names"):
        fitted.report(tmp_path / "a.html", X=frame[["y", "x"]])
    with pytest.raises(ValueError, match=r"X must have the shape \(n, 2\), as in the fit; got"):
        fitted.report(tmp_path / "a.html", X=np.ones((5, 1)))
