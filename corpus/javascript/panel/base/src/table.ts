export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number;
}

/** Draws rows under their titles; numbers stand on the right. */
export function table<Row>(rows: Row[], columns: Column<Row>[]): string {
  const cells = rows.map((row) => columns.map((column) => column.value(row)));
  const widths = columns.map((column, index) =>
    Math.max(...cells.map((row) => String(row[index]).length), column.title.length),
  );
  const draw = (row: (string | number)[]) =>
    row
      .map((cell, index) =>
        typeof cell === "number"
          ? String(cell).padStart(widths[index]!)
          : cell.padEnd(widths[index]!),
      )
      .join("  ")
      .trimEnd();
  return [draw(columns.map((column) => column.title)), ...cells.map(draw)].join("\n");
}
