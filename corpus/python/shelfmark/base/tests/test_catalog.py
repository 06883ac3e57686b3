from shelfmark.catalog import by_author, read_csv, search


def test_reads_csv():
    books = read_csv(["title,author,year,isbn", "Dune,Frank Herbert,1965,"])
    assert books[0].title == "Dune"
    assert books[0].year == 1965


def test_search_in_title(books):
    assert [book.title for book in search(books, "Pers")] == ["Persuasion"]


def test_search_in_author(books):
    assert len(search(books, "Austen")) == 2


def test_by_author_is_oldest_first(books):
    assert by_author(books)["Jane Austen"] == ["Emma", "Persuasion"]
