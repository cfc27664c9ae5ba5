"""8-bit encodings are told apart by the letters of languages."""

import pytest

from accord.table.code_pages import EIGHT_BITS, rank_pages

TEXTS = {
    "Jiří Dvořák; Růžena Šťastná; Český Těšín; Pěnčín": ("cp1250", "iso8859-2", "cp852"),
    "Łukasz Wójcik; Małgorzata Żółkiewska; Gdańsk; Dąbrowski; Jaśmina; Wąsik": (
        "cp1250",
        "iso8859-2",
        "cp852",
    ),
    "Győző Szőke; Török Gyűrűs; Erzsébet Fűtő; Zsófia": ("cp1250", "cp852"),
    "Jürgen Müller; Straße; Käthe Löhr": ("cp1252", "cp850", "mac-roman"),
    "Hélène Lefèvre; François; Noël; Château": ("cp1252", "cp850", "mac-roman"),
    "João Gonçalves; Conceição; Antónia": ("cp1252", "cp850"),
    "Bjørn Ødegård; Åse Sørensen": ("cp1252", "cp850"),
    "Çağlar Yılmaz; Ayşe Işık; Gökçe Büyükçelik": ("cp1254",),
    "Jānis Bērziņš; Kārlis Ozoliņš": ("cp1257",),
    # Signs are no letters, and who has none beyond ASCII has the commonest.
    "Adobe® Acrobat; £12.99; 5 µm; Office™; 20 °C": ("cp1252",),
}
CASES = [(text, page) for text, pages in TEXTS.items() for page in pages]


@pytest.mark.parametrize(("text", "page"), CASES)
def test_letters_speak_for_a_page(text: str, page: str) -> None:
    assert rank_pages([text.encode(page)])[0] == page
    assert page in EIGHT_BITS


def test_most_letters_decide_and_not_the_first() -> None:
    one, many = "Müller".encode("cp1250"), "Dvořák Šťastný ".encode("cp1250") * 50
    assert rank_pages([one, many])[0] == rank_pages([many, one])[0] == "cp1250"
    assert rank_pages([b""]) == ["cp1252"]
