//! Rows as values: what a table's columns are is said once, as the fields of a struct, and statements are made from that.
//!
//! A column has the name of its field, so a new one is a line in the struct, what it holds in the struct's `of`, and a step in the schema of
//! each database.

/// Declares a row that is read from either database, and the macro with the names of its columns, for `concat!`.
macro_rules! read_row {
    ($(#[$doc:meta])* $row:ident, $columns:ident { $first:ident: $first_type:ty, $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        pub(crate) struct $row {
            pub(crate) $first: $first_type,
            $(pub(crate) $field: $type,)*
        }

        /// The columns that the row is read from, in its fields' order.
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

/// Declares a row that is written: whole when it is inserted, and by its key in the fields that change.
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
            /// The key, and after it the columns that an update sets.
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

            pub(crate) fn postgres_changing(&self) -> Vec<&(dyn postgres::types::ToSql + Sync)> {
                vec![&self.$key, $(&self.$field,)*]
            }
        }
    };
}
pub(crate) use written_row;

/// `insert into table (a, b) values (?1, ?2)`, with the marker of the database.
pub(crate) fn insert(table: &str, columns: &[&str], more: &[&str], marker: char) -> String {
    let all: Vec<&str> = columns.iter().chain(more).copied().collect();
    let places: Vec<String> = (1..=all.len()).map(|place| format!("{marker}{place}")).collect();
    format!("insert into {table} ({}) values ({})", all.join(", "), places.join(", "))
}

/// `update table set b = ?2 where a = ?1`: the first column is the key.
pub(crate) fn update(table: &str, columns: &[&str], marker: char) -> String {
    let (key, changing) = columns.split_first().unwrap_or((&"id", &[]));
    let set: Vec<String> =
        changing.iter().zip(2..).map(|(column, place)| format!("{column} = {marker}{place}")).collect();
    format!("update {table} set {} where {key} = {marker}1", set.join(", "))
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
            update("legs", &["task", "state", "usage"], '?'),
            "update legs set state = ?2, usage = ?3 where task = ?1"
        );
    }
}
