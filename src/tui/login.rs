//! A login that the agent's browser asks for, filled in. Pure.
//!
//! What is typed is shown masked, is never copied, kept as a draft or given to an editor, and is gone when the form is left.

use std::fmt;

use super::action::Action;
use super::field::Field;
use crate::api::{
    BrowserAuthenticationAnswer, BrowserAuthenticationField, BrowserAuthenticationForm,
    BrowserAuthenticationOption, BrowserAuthenticationValue, Secret,
};

/// Kinds of fields whose values are no secrets; all others are masked.
const PLAIN: [&str; 5] = ["text", "email", "username", "tel", "url"];

/// See the module.
#[derive(Clone)]
pub struct Login {
    form: BrowserAuthenticationForm,
    /// Which of the ways to log in, where there are some.
    way: usize,
    /// A value for each field of the form.
    values: Vec<Field>,
    /// Which of the fields that are shown is typed.
    at: usize,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("way", &self.way)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// An empty form.
    pub fn new(form: BrowserAuthenticationForm) -> Login {
        Login {
            values: vec![Field::default(); form.fields.len()],
            form,
            way: 0,
            at: 0,
        }
    }

    /// The chosen way to log in, and how many there are.
    pub fn way(&self) -> Option<(&BrowserAuthenticationOption, usize)> {
        let ways = &self.form.options;
        Some((ways.get(self.way)?, ways.len()))
    }

    /// Places of the fields that this way needs.
    fn needed(&self) -> Vec<usize> {
        let fields = self.form.fields.iter().enumerate();
        let is_needed = |field: &BrowserAuthenticationField| {
            self.way()
                .is_none_or(|(way, _)| way.field_ids.contains(&field.id))
        };
        fields
            .filter(|(_, field)| is_needed(field))
            .map(|(place, _)| place)
            .collect()
    }

    /// The fields that this way needs, with what may be shown of their values, and which of them is typed.
    pub fn shown(&self) -> (Vec<(&BrowserAuthenticationField, Field)>, usize) {
        let shown = self.needed().into_iter().map(|place| {
            let (field, value) = (&self.form.fields[place], &self.values[place]);
            match PLAIN.contains(&field.kind.as_str()) {
                true => (field, value.clone()),
                false => (field, value.masked()),
            }
        });
        (shown.collect(), self.at)
    }

    /// Whether anything was typed.
    pub fn is_written(&self) -> bool {
        self.values.iter().any(|value| !value.text().is_empty())
    }

    fn typed(&mut self) -> Option<&mut Field> {
        let place = self.needed().get(self.at).copied()?;
        self.values.get_mut(place)
    }

    /// Takes in text that was typed or pasted. `false`: it would be too long.
    pub fn insert(&mut self, text: &str) -> bool {
        let text = text.replace(['\n', '\r'], "");
        self.typed().is_none_or(|field| field.insert(&text))
    }

    /// Goes from field to field, chooses another way, or edits.
    pub fn act(&mut self, action: Action) {
        let fields = self.needed().len().max(1);
        match action {
            Action::Next => self.at = (self.at + 1) % fields,
            Action::Previous => self.at = (self.at + fields - 1) % fields,
            Action::Cycle => {
                self.way = (self.way + 1) % self.form.options.len().max(1);
                self.at = 0;
            }
            action => {
                if let Some(field) = self.typed() {
                    field.edit(action);
                }
            }
        }
    }

    /// The form as it is filled in.
    ///
    /// # Errors
    /// In words: which field is missing.
    pub fn answer(&self) -> Result<BrowserAuthenticationAnswer, String> {
        let mut fields = Vec::new();
        for place in self.needed() {
            let (field, value) = (&self.form.fields[place], &self.values[place]);
            match (value.text().is_empty(), field.required) {
                (true, true) => return Err(format!("{} is missing", field.label)),
                (true, false) => {}
                (false, _) => fields.push(BrowserAuthenticationValue {
                    field_id: field.id.clone(),
                    value: Secret::new(value.text()),
                }),
            }
        }
        Ok(BrowserAuthenticationAnswer::Submit {
            fields,
            selected_option: self.way().map(|(way, _)| way.id.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Login {
        let field = |id: &str, kind: &str, required| BrowserAuthenticationField {
            id: id.into(),
            label: id.to_uppercase(),
            required,
            kind: kind.into(),
        };
        let way = |id: &str, fields: &[&str]| BrowserAuthenticationOption {
            id: id.into(),
            field_ids: fields.iter().map(|id| (*id).to_owned()).collect(),
            label: id.into(),
        };
        Login::new(BrowserAuthenticationForm {
            credential_origin: None,
            fields: vec![
                field("name", "text", true),
                field("word", "password", true),
                field("code", "otp", false),
            ],
            options: vec![way("both", &["name", "word"]), way("code", &["code"])],
            reason: None,
        })
    }

    #[test]
    fn a_secret_is_never_shown_and_a_name_is() {
        let mut login = form();
        login.insert("ann");
        login.act(Action::Next);
        login.insert("hunter2\n");
        let (shown, at) = login.shown();
        let shown: Vec<&str> = shown.iter().map(|(_, value)| value.text()).collect();
        assert_eq!((shown, at), (vec!["ann", "*******"], 1));
        assert!(!format!("{login:?}").contains("hunter2"));
        let answer = login.answer().expect("it is filled in");
        assert!(!format!("{answer:?}").contains("hunter2"));
        let BrowserAuthenticationAnswer::Submit {
            fields,
            selected_option,
        } = answer
        else {
            panic!("it is filled in");
        };
        assert_eq!(selected_option.as_deref(), Some("both"));
        assert_eq!(fields[1].value.reveal(), "hunter2");
    }

    #[test]
    fn what_must_be_filled_in_is_asked_for_and_another_way_has_other_fields() {
        let mut login = form();
        login.insert("ann");
        assert_eq!(login.answer(), Err("WORD is missing".into()));
        login.act(Action::Cycle);
        assert_eq!(login.shown().0.len(), 1);
        let answer = login.answer().expect("nothing is required");
        assert!(
            matches!(answer, BrowserAuthenticationAnswer::Submit { fields, .. } if fields.is_empty())
        );
    }
}
