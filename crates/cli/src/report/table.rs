//! Tables with columns as wide as needed.

/// Aligns rows under their headings; columns in `right` are right-aligned.
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

/// Like [`lines`], within a width: drops columns of `least` one by one until the rest fits, then cuts lines.
pub fn fitted(
    headings: &[&str],
    rows: &[Vec<String>],
    right: &[usize],
    least: &[usize],
    width: usize,
) -> Vec<String> {
    for count in 0..=least.len() {
        let gone = &least[..count];
        let kept: Vec<usize> = (0..headings.len()).filter(|column| !gone.contains(column)).collect();
        let heads: Vec<&str> = kept.iter().map(|column| headings[*column]).collect();
        let pick = |row: &Vec<String>| kept.iter().filter_map(|column| row.get(*column).cloned()).collect();
        let cells: Vec<Vec<String>> = rows.iter().map(pick).collect();
        let aligned: Vec<usize> =
            kept.iter().enumerate().filter(|(_, old)| right.contains(old)).map(|(new, _)| new).collect();
        let lines = lines(&heads, &cells, &aligned);
        if lines.iter().all(|line| line.chars().count() <= width) || count == least.len() {
            return lines.iter().map(|line| super::text::line_from(line, width)).collect();
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_go_before_lines_are_cut() {
        let rows = vec![vec!["T-1".to_owned(), "working".to_owned(), "Add a flag".to_owned()]];
        let heads = ["TASK", "STATE", "TITLE"];
        assert_eq!(super::fitted(&heads, &rows, &[], &[1], 40)[1], "T-1   working  Add a flag");
        assert_eq!(super::fitted(&heads, &rows, &[], &[1], 20)[1], "T-1   Add a flag");
        assert_eq!(super::fitted(&heads, &rows, &[], &[1], 10)[1], "T-1   Add…");
    }

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".to_owned(), "10".to_owned()], vec!["long".to_owned(), "9".to_owned()]];
        assert_eq!(super::lines(&["x", "n"], &rows, &[1]), ["x      n", "a     10", "long   9"]);
    }
}
