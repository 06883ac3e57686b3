//! Columns of text, as wide as they need to be.

/// Lines up rows under their headings; columns of `right` are aligned to the right.
pub fn lines(headings: &[&str], rows: &[Vec<String>], right: &[usize]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let one = |cells: &[String]| {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            if column > 0 {
                line.push_str("  ");
            }
            if right.contains(&column) {
                line.push_str(&pad);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&pad);
            }
        }
        line.trim_end().to_owned()
    };
    let headings: Vec<String> = headings.iter().map(|text| (*text).to_owned()).collect();
    std::iter::once(one(&headings)).chain(rows.iter().map(|row| one(row))).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".to_owned(), "10".to_owned()], vec!["long".to_owned(), "9".to_owned()]];
        assert_eq!(super::lines(&["x", "n"], &rows, &[1]), ["x      n", "a     10", "long   9"]);
    }
}
