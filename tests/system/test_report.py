"""The report in a browser: what its markers say is what the model says, by mouse, by keys, on paper and in the dark."""

import json
import shutil
from pathlib import Path

import axe_playwright_python
import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from naively import NaiveBayes
from tests.report.pages import ROWS, SPECIES, as_row, pages, random_cells

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
MODELS = pages()
AUDIT = """async () => (await axe.run({resultTypes: ["violations"]})).violations.map(
    one => one.id + ": " + one.nodes.slice(0, 3).map(node => node.target + " " + node.failureSummary).join(" | "))"""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield opened
        opened.close()


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens the report of a model; nothing may go wrong in it, and nothing may be loaded."""
    trouble, contexts = [], []

    def open_report(model, width=1280, scheme="light", **given):
        path = model.report(tmp_path / "report.html", **given)
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: trouble.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert not trouble


def settled(page):
    """What the page shows: the probability of each class."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return json.loads(page.locator("#probability").get_attribute("data-p"))


def proba(model, row):
    return model.predict_proba({name: [value] for name, value in row.items()})[0]


# -- the arithmetic --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:No class could have produced")
@pytest.mark.filterwarnings("ignore:X lacks the columns")
@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_the_page_computes_what_the_model_computes(name, opened):
    model, page = MODELS[name], opened(MODELS[name])
    told, rng = page.evaluate("naivelyReport.data"), np.random.default_rng(3)
    if name == "impossible":  # minus infinity does not survive the way from the browser
        told["columns"][0]["evidence"] = [[0.0] * len(told["columns"][0]["values"])] * 2
    cells = [random_cells(told, rng) for _ in range(200)]
    rows = [as_row(told, one) for one in cells]
    answers = page.evaluate("all => all.map(naivelyReport.answer)", cells)
    expected = model.predict_proba({key: [row[key] for row in rows] for key in rows[0]})
    np.testing.assert_allclose(answers, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["auto", "textbook", "two", "many"])
@pytest.mark.filterwarnings("ignore:X lacks the columns")
@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_the_bits_are_those_of_explain(name, opened):
    model, page = MODELS[name], opened(MODELS[name])
    told, rng = page.evaluate("naivelyReport.data"), np.random.default_rng(4)
    for _ in range(10):
        cells = random_cells(told, rng)
        row = {key: [value] for key, value in as_row(told, cells).items()}
        for code, label in enumerate(model.classes_.tolist()):
            shown = page.evaluate("([cells, c]) => naivelyReport.explain(cells, c)", [cells, code])
            frame = model.explain(row, target=label)
            bits = dict(zip(frame["column"], frame["bits"], strict=True))
            expected = [bits[column["name"]] for column in told["columns"]]
            np.testing.assert_allclose([shown["prior"], *shown["columns"]], [bits["prior"], *expected], atol=1e-8)
            assert shown["sum"] == pytest.approx(sum(bits.values()), abs=1e-8)


# -- moving markers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["auto", "textbook"])
def test_markers_move_by_keys_mouse_and_typing(name, opened):
    model = MODELS[name]
    page = opened(model, row=ROWS[200])
    row = dict(ROWS[200])
    np.testing.assert_allclose(settled(page), proba(model, row), atol=1e-9)
    told = page.evaluate("naivelyReport.data")
    (mass,) = [column for column in told["columns"] if column["name"] == "body_mass_g"]

    slider = page.get_by_role("slider", name="body_mass_g", exact=True)
    slider.press("ArrowRight")
    row["body_mass_g"] = mass["at"][mass["example"] + 1]
    np.testing.assert_allclose(settled(page), proba(model, row), atol=1e-9)
    slider.press("End")
    row["body_mass_g"] = mass["at"][-1]
    np.testing.assert_allclose(settled(page), proba(model, row), atol=1e-9)
    slider.press("Delete")
    row["body_mass_g"] = None
    np.testing.assert_allclose(settled(page), proba(model, row), atol=1e-9)

    before = settled(page)
    box = page.get_by_role("slider", name="bill_length_mm", exact=True).bounding_box()
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 20)
    after = settled(page)
    row["bill_length_mm"] = float(page.get_by_role("textbox", name="bill_length_mm, value").input_value())
    np.testing.assert_allclose(after, proba(model, row), atol=1e-9)
    assert after != before

    page.get_by_role("textbox", name="flipper_length_mm, value").fill("210")
    page.keyboard.press("Tab")
    after = settled(page)
    row["flipper_length_mm"] = float(page.get_by_role("textbox", name="flipper_length_mm, value").input_value())
    assert row["flipper_length_mm"] == pytest.approx(210, abs=0.5)
    np.testing.assert_allclose(after, proba(model, row), atol=1e-9)


def test_values_are_chosen_and_unknown_is_a_choice(opened):
    model, row = MODELS["auto"], dict(ROWS[200])
    page = opened(model, row=row)
    island = page.get_by_role("group", name="island")
    island.get_by_text("Biscoe", exact=True).click()
    np.testing.assert_allclose(settled(page), proba(model, row | {"island": "Biscoe"}), atol=1e-9)
    island.get_by_text("unknown", exact=True).click()
    np.testing.assert_allclose(settled(page), proba(model, row | {"island": None}), atol=1e-9)
    island.get_by_text("another value", exact=True).click()
    np.testing.assert_allclose(settled(page), proba(model, row | {"island": "Atlantis"}), atol=1e-9)
    page.get_by_role("button", name="All unknown").click()
    np.testing.assert_allclose(settled(page), proba(model, dict.fromkeys(row)), atol=1e-9)
    assert page.get_by_role("button", name="body_mass_g unknown").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Given row").click()
    np.testing.assert_allclose(settled(page), proba(model, row), atol=1e-9)


@pytest.mark.parametrize("name", ["text", "weighed text"])
def test_words_are_switched_on(name, opened):
    model = MODELS[name]
    page = opened(model)
    group = page.get_by_role("group", name="text, words of the text")
    for word in ("free", "lunch"):
        group.get_by_text(word, exact=True).click()
    page.get_by_role("slider", name="length", exact=True).press("Delete")
    words = page.evaluate("naivelyReport.row()")
    row = {"text": json.loads(words.split('"text": ')[1].split(",")[0].rstrip("}")), "length": None}
    assert set(row["text"].split()) == {"free", "lunch"}
    np.testing.assert_allclose(settled(page), proba(model, row), atol=1e-9)


def test_another_class_and_another_opponent(opened):
    model = MODELS["auto"]
    page = opened(model, row=ROWS[200])
    big = page.locator("#probability")
    page.get_by_role("radiogroup", name="Class").get_by_text("Gentoo", exact=True).click()
    p = settled(page)
    page.get_by_label("Against").select_option(label="Adelie")
    assert settled(page) == p
    assert float(big.get_attribute("data-bits")) == pytest.approx(np.log2(p[2] / p[0]), abs=1e-8)


def test_many_classes_have_a_list_to_choose_from(opened):
    page = opened(MODELS["many"])
    page.get_by_label("Class", exact=True).select_option(label="7")
    shown, p = page.locator("#probability").inner_text(), settled(page)[7]
    assert p < 0.001 or abs(float(shown) / 100 - p) < 0.001
    assert page.locator(".shares > span:visible").count() == 4


def test_the_row_can_be_copied_as_python(opened):
    page = opened(MODELS["auto"], row=ROWS[200])
    row = eval(page.evaluate("naivelyReport.row()"))
    np.testing.assert_allclose(proba(MODELS["auto"], row), settled(page), atol=1e-9)


# -- for everybody ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["auto", "two", "many", "joined", "weighed text", "textbook", "strong"])
def test_axe_finds_nothing(name, scheme, opened):
    given = {"row": ROWS[200], "data": (ROWS, SPECIES)} if name in ("auto", "joined", "textbook", "strong") else {}
    model = NaiveBayes("strong", kept_rows=200).fit(ROWS, SPECIES) if name == "strong" else MODELS[name]
    page = opened(model, scheme=scheme, **given)
    page.add_style_tag(content="* { transition: none !important }")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(AUDIT) == []


@pytest.mark.parametrize("name", ["auto", "many", "weighed text", "joined"])
@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_scrolls_sideways_on_a_phone(name, width, opened):
    page = opened(MODELS[name], width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_looks_like_markup_is_shown_as_text(opened):
    nasty = ["<script>document.title = 1</script>", "</script><b id='bold'>", "\u2028line", "\"quoted'", "<!--"]
    model = NaiveBayes("textbook").fit({"</script><i id='slanted'>": nasty * 4}, (nasty[:2] * 10))
    page = opened(model, title="<b id='bold'>")
    assert page.locator("#bold, #slanted").count() == 0
    for value in nasty:
        assert page.locator(".chip span", has_text=value.strip("\u2028")).count() == 1


def test_paper_is_light_even_from_a_dark_screen(opened):
    page = opened(MODELS["auto"], scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
