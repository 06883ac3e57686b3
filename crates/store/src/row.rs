//! Rows as values: a table's columns are declared once, as the fields of a struct, and statements are generated from
//! that.
//!
//! A column has the name of its field. To add one, add a line to the struct, its value to the struct's `of`, and a
//! migration to the schema of each database.

/// Declares a row that is read from either database, and a macro with the names of its columns, for `concat!`.
macro_rules! read_row {
    ($(#[$doc:meta])* $row:ident, $columns:ident { $first:ident: $first_type:ty, $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        pub(crate) struct $row {
            pub(crate) $first: $first_type,
            $(pub(crate) $field: $type,)*
        }

        /// Columns of the row, in the order of its fields.
        macro_rules! $columns {
            () => {
                concat!(stringify!($first), $(", ", stringify!($field),)*)
            };
        }
        #[allow(unused_imports, reason = "some columns are named only where the row is declared")]
        pub(crate) use $columns;

        impl $row {
            pub(crate) fn of_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
                let mut place = 0_usize..;
                let mut next = || place.next().unwrap_or_default();
                Ok(Self { $first: row.get(next())?, $($field: row.get(next())?,)* })
            }

            pub(crate) fn of_postgres(row: &postgres::Row) -> Self {
                let mut place = 0_usize..;
                let mut next = || place.next().unwrap_or_default();
                Self { $first: row.get(next()), $($field: row.get(next()),)* }
            }
        }
    };
}
pub(crate) use read_row;

/// Declares a row that is inserted as a whole, and updated by its key in the fields that change.
macro_rules! written_row {
    ($(#[$doc:meta])* $row:ident { key { $key:ident: $key_type:ty } fixed { $($fixed:ident: $fixed_type:ty,)* } changing { $($field:ident: $type:ty,)* } }) => {
        $(#[$doc])*
        pub(crate) struct $row {
            pub(crate) $key: $key_type,
            $(pub(crate) $fixed: $fixed_type,)*
            $(pub(crate) $field: $type,)*
        }

        impl $row {
            /// All columns, for an insert.
            pub(crate) const COLUMNS: &[&str] = &[stringify!($key), $(stringify!($fixed),)* $(stringify!($field),)*];
            /// The key, followed by the columns that an update sets.
            pub(crate) const CHANGING: &[&str] = &[stringify!($key), $(stringify!($field),)*];

            pub(crate) fn sqlite(&self) -> Vec<&dyn rusqlite::ToSql> {
                vec![&self.$key, $(&self.$fixed,)* $(&self.$field,)*]
            }

            pub(crate) fn sqlite_changing(&self) -> Vec<&dyn rusqlite::ToSql> {
                vec![&self.$key, $(&self.$field,)*]
            }

            pub(crate) fn postgres(&self) -> Vec<&(dyn postgres::types::ToSql + Sync)> {
                vec![&self.$key, $(&self.$fixed,)* $(&self.$field,)*]
            }

            /// The types of the key and the columns that an update sets, in PostgreSQL.
            pub(crate) const TYPES: &[&str] =
                &[<$key_type as crate::row::SqlType>::NAME, $(<$type as crate::row::SqlType>::NAME,)*];

            /// The values of the key and the columns that an update sets, each column as an array.
            pub(crate) fn postgres_changing(rows: &[Self]) -> Vec<Box<dyn postgres::types::ToSql + Sync + '_>> {
                vec![
                    Box::new(rows.iter().map(|row| &row.$key).collect::<Vec<_>>()),
                    $(Box::new(rows.iter().map(|row| &row.$field).collect::<Vec<_>>()),)*
                ]
            }
        }
    };
}
pub(crate) use written_row;

/// Returns `insert into table (a, b) values (?1, ?2)`, with the parameter marker of the database.
pub(crate) fn insert(table: &str, columns: &[&str], more: &[&str], marker: char) -> String {
    let all: Vec<&str> = columns.iter().chain(more).copied().collect();
    let places: Vec<String> = (1..=all.len()).map(|place| format!("{marker}{place}")).collect();
    format!("insert into {table} ({}) values ({})", all.join(", "), places.join(", "))
}

/// Returns `update table set b = ?2 where a = ?1`. The first column is the key.
pub(crate) fn update(table: &str, columns: &[&str]) -> String {
    let (key, changing) = columns.split_first().unwrap_or((&"id", &[]));
    let set: Vec<String> =
        changing.iter().zip(2..).map(|(column, place)| format!("{column} = ?{place}")).collect();
    format!("update {table} set {} where {key} = ?1", set.join(", "))
}

/// Returns a statement for PostgreSQL that does the same to many rows, with an array for each column.
pub(crate) fn update_all(table: &str, columns: &[&str], types: &[&str]) -> String {
    let (key, changing) = columns.split_first().unwrap_or((&"id", &[]));
    let set: Vec<String> = changing.iter().map(|column| format!("{column} = new.{column}")).collect();
    let arrays: Vec<String> =
        types.iter().zip(1..).map(|(name, place)| format!("${place}::{name}[]")).collect();
    format!(
        "update {table} set {} from unnest({}) as new ({}) where {table}.{key} = new.{key}",
        set.join(", "),
        arrays.join(", "),
        columns.join(", ")
    )
}

/// A type of a column in PostgreSQL.
pub(crate) trait SqlType {
    const NAME: &'static str;
}

impl SqlType for i64 {
    const NAME: &'static str = "bigint";
}

impl SqlType for bool {
    const NAME: &'static str = "boolean";
}

impl SqlType for String {
    const NAME: &'static str = "text";
}

impl SqlType for &'static str {
    const NAME: &'static str = "text";
}

impl<T: SqlType> SqlType for Option<T> {
    const NAME: &'static str = T::NAME;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_a_place_for_every_column() {
        assert_eq!(
            insert("legs", &["task", "number"], &["stage"], '$'),
            "insert into legs (task, number, stage) values ($1, $2, $3)"
        );
        assert_eq!(
            update("legs", &["task", "state", "usage"]),
            "update legs set state = ?2, usage = ?3 where task = ?1"
        );
        assert_eq!(
            update_all("legs", &["task", "state"], &["bigint", "text"]),
            "update legs set state = new.state from unnest($1::bigint[], $2::text[]) as new (task, state) \
             where legs.task = new.task"
        );
    }
}
