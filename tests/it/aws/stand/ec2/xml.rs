//! Answers of the query protocol: elements, in which a list is a row of `item`s.

use super::query::Params;

/// What is between the tags of an element.
pub(super) enum Xml {
    Text(String),
    Fields(Vec<(String, Xml)>),
    /// The name of each member, which is `item` almost everywhere, and the members.
    Items(&'static str, Vec<Xml>),
}

/// A text.
pub(super) fn text(text: impl ToString) -> Xml {
    Xml::Text(text.to_string())
}

/// A structure.
pub(super) fn fields<const N: usize>(fields: [(&str, Xml); N]) -> Xml {
    let fields = fields.into_iter();
    Xml::Fields(fields.map(|(name, xml)| (name.to_owned(), xml)).collect())
}

/// A list.
pub(super) fn items(items: impl IntoIterator<Item = Xml>) -> Xml {
    Xml::Items("item", items.into_iter().collect())
}

impl Xml {
    /// A structure with one more member, if there is one.
    pub(super) fn with(mut self, name: &str, more: Option<Xml>) -> Xml {
        if let (Xml::Fields(fields), Some(more)) = (&mut self, more) {
            fields.push((name.to_owned(), more));
        }
        self
    }

    /// What a request said, as an answer repeats it: names begin small, and those of lists end with `Set`.
    pub(super) fn echo(params: &Params) -> Xml {
        if params.is_list() {
            return items(params.items().into_iter().map(Xml::echo));
        }
        if let Some(value) = params.value() {
            return text(value);
        }
        let field = |(name, member): (&str, &Params)| match (name, member.is_list()) {
            // Only a network interface has it beside its subnet and its number, and calls it so.
            ("SecurityGroupId", true) if params.get("DeviceIndex").is_some() => {
                let groups = member.items().into_iter().map(Xml::echo).collect();
                ("groupSet".to_owned(), Xml::Items("groupId", groups))
            }
            (name, true) => (format!("{}Set", small(name)), Xml::echo(member)),
            (name, false) => (small(name), Xml::echo(member)),
        };
        Xml::Fields(params.members().map(field).collect())
    }

    /// The whole document.
    pub(super) fn document(&self, root: &str, namespace: Option<&str>) -> String {
        let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        let namespace = namespace.map(|uri| format!(" xmlns=\"{uri}\""));
        self.write(root, &namespace.unwrap_or_default(), &mut out);
        out
    }

    fn write(&self, name: &str, attributes: &str, out: &mut String) {
        out.push_str(&format!("<{name}{attributes}>"));
        match self {
            Xml::Text(text) => escape(text, out),
            Xml::Fields(fields) => fields
                .iter()
                .for_each(|(name, xml)| xml.write(name, "", out)),
            Xml::Items(each, items) => items.iter().for_each(|xml| xml.write(each, "", out)),
        }
        out.push_str(&format!("</{name}>"));
    }
}

fn small(name: &str) -> String {
    let mut chars = name.chars();
    match chars.next() {
        Some(first) => format!("{}{}", first.to_ascii_lowercase(), chars.as_str()),
        None => String::new(),
    }
}

fn escape(text: &str, out: &mut String) {
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A parser would make them something else.
            '\r' => out.push_str("&#13;"),
            char => out.push(char),
        }
    }
}
