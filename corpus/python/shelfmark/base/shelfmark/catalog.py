"""Books, and how to find them."""

import csv
from dataclasses import dataclass


@dataclass(frozen=True)
class Book:
    title: str
    author: str
    year: int
    isbn: str = ""


def read_csv(lines):
    """Books from lines of ``title,author,year,isbn`` with a header."""
    books = []
    for row in csv.DictReader(lines):
        books.append(Book(row["title"], row["author"], int(row["year"]), row["isbn"]))
    return books


def search(books, text):
    """Books with the text in their title or author."""
    return [book for book in books if text in book.title or text in book.author]


def by_author(books):
    """Titles for each author, oldest first."""
    result = {}
    for book in sorted(books, key=lambda book: book.year):
        result.setdefault(book.author, []).append(book.title)
    return result


def page(books, number, size=10):
    """One page of books. The first page has the number 1."""
    start = number * size
    return books[start:start + size]
