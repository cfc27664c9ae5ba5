"""8-bit encodings are told apart by the letters of languages."""

import pytest

from accord.table.code_pages import EIGHT_BITS, likeliest_page

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
    assert likeliest_page([text.encode(page)]) == page
    assert page in EIGHT_BITS


def test_most_letters_decide_and_not_the_first() -> None:
    one, many = "Müller".encode("cp1250"), "Dvořák Šťastný ".encode("cp1250") * 50
    assert likeliest_page([one, many]) == likeliest_page([many, one]) == "cp1250"
    assert likeliest_page([b""]) == "cp1252"


@pytest.mark.parametrize(
    "text",
    [
        "Hélène Kälin; Geneviève Bühler; André Käser; Thérèse Schär; René Jäggi; Michèle Läderach; Bärtschi",
        "Bäcker Martínez; Jäger García; Schäfer Rodríguez; Köhler Núñez; Böhm Gómez",
        "Gaëlle Krämer; Hélène Schäfer; Mäder; Zoë; Irène",
    ],
)
def test_where_two_languages_are_spoken_both_alphabets_count(text: str) -> None:
    assert likeliest_page([text.encode("cp1252")]) == "cp1252"


def test_a_few_names_from_elsewhere_do_not_decide() -> None:
    swedes = "Håkansson; Åström; Sjöberg; Änglund; Pålsson; Björk; Måns; Sörensen; Gård; " * 20
    assert likeliest_page([(swedes + "Hodžic").encode("cp1252")]) == "cp1252"


@pytest.mark.parametrize(
    ("text", "page"),
    [("Kovačič; Zupančič; Matjaž; Špela", "cp1250"), ("Szabó Győző; Kovács László; Ödön", "cp1250")],
)
def test_letters_at_the_edge_of_a_word_decide_where_others_do_not(text: str, page: str) -> None:
    assert likeliest_page([text.encode(page)]) == page


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("Иванов Сергей; Петрова Наталья; Москва; Смирнов Алексей", "cp1251"),
        ("Παπαδόπουλος Γιώργος; Αθήνα; Νικολάου Ελένη", "cp1253"),
        ("Иванов Сергей; Петрова Наталья; Москва; Смирнов Алексей", "koi8-r"),
    ],
)
def test_other_letters_are_not_taken_for_latin_ones(text: str, page: str) -> None:
    assert likeliest_page([text.encode(page)]) is None
