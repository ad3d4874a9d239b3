//! What a reader takes, as JSON Schema, found by running the reader.
//!
//! A reader asks for fields; run over a form instead of a body, each question is written down and answered with some value of the
//! right type. So what is published about a body is what its reader does: a field that is asked for is a property, one that must be
//! there is required, and an object that is read to its end takes nothing else. A reader that looks at a tag is run once for every
//! word of it. The one thing that is not found this way are the rules about values: `limits::bound` has those that a schema can say.

use std::cell::RefCell;
use std::rc::Rc;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{Node, Read};
use crate::api::{ApiError, limits};

/// Schemas of the types that bodies are made of, by name.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    named: Rc<RefCell<Map<String, Value>>>,
}

impl Forms {
    /// What this type's reader takes. Objects and unions are referred to, as `#/components/schemas/…`; [`Forms::into_named`] has them.
    ///
    /// # Errors
    ///
    /// The reader refuses what it asked for itself: a fault of the reader.
    pub fn of<T: Read + JsonSchema>(&self) -> Result<Value, ApiError> {
        self.read::<T>().map(|(schema, _)| schema)
    }

    /// All that was referred to.
    pub fn into_named(self) -> Map<String, Value> {
        self.named.take()
    }

    /// The same, with a value as the reader made it.
    fn read<T: Read + JsonSchema>(&self) -> Result<(Value, T), ApiError> {
        let name = name_of::<T>();
        let mut choices = Vec::new();
        let mut runs = Vec::new();
        let value = loop {
            let form = Form::new(self.clone(), &name, choices);
            let value = T::read(Node::form(form.clone()))?;
            let run = form.0.take();
            runs.push(tidied(run.schema));
            match next(run.choices) {
                Some(further) => choices = further,
                None => break value,
            }
        };
        let mut schema = match runs.len() {
            1 => runs.swap_remove(0),
            _ => json!({ "oneOf": runs }),
        };
        if schema.get("oneOf").is_none()
            && schema.get("additionalProperties") != Some(&json!(false))
        {
            return Ok((schema, value));
        }
        describe::<T>(&mut schema);
        self.named.borrow_mut().insert(name.clone(), schema);
        Ok((
            json!({"$ref": format!("#/components/schemas/{name}")}),
            value,
        ))
    }
}

/// Requests have names of their own: an answer's type of the same name takes more.
fn name_of<T: JsonSchema>() -> String {
    let name = T::schema_name();
    match name.ends_with("Param") || name.ends_with("Params") {
        true => name.into_owned(),
        false => format!("{name}Param"),
    }
}

/// A tag that was looked at: which word was answered, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Choice {
    at: usize,
    of: usize,
}

/// The choices of the next run; `None` if all were made.
fn next(mut choices: Vec<Choice>) -> Option<Vec<Choice>> {
    while let Some(last) = choices.last_mut() {
        last.at += 1;
        if last.at < last.of {
            return Some(choices);
        }
        choices.pop();
    }
    None
}

#[derive(Debug, Default)]
struct Run {
    forms: Forms,
    name: String,
    schema: Value,
    choices: Vec<Choice>,
    tags_read: usize,
}

/// What one run of a reader asks for.
#[derive(Clone, Debug)]
pub(super) struct Form(Rc<RefCell<Run>>);

/// How a field may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    RequiredNullable,
    Optional,
    Nullable,
}

impl Form {
    fn new(forms: Forms, name: &str, choices: Vec<Choice>) -> Form {
        Form(Rc::new(RefCell::new(Run {
            forms,
            name: name.to_owned(),
            choices,
            ..Run::default()
        })))
    }

    /// This is what stands here.
    pub(super) fn is(&self, schema: Value) {
        self.0.borrow_mut().schema = schema;
    }

    /// An array of these.
    pub(super) fn is_array_of<T: Read + JsonSchema>(&self) -> Result<T, ApiError> {
        let forms = self.0.borrow().forms.clone();
        let (items, element) = forms.read()?;
        self.is(json!({"type": "array", "items": items}));
        Ok(element)
    }

    /// An object with these under any name.
    pub(super) fn is_map_of<T: Read + JsonSchema>(&self) -> Result<(), ApiError> {
        let forms = self.0.borrow().forms.clone();
        let values = forms.of::<T>()?;
        self.is(json!({"type": "object", "additionalProperties": values}));
        Ok(())
    }

    /// Text, or an array of these.
    pub(super) fn is_text_or_array_of<T: Read + JsonSchema>(&self) -> Result<T, ApiError> {
        let element = self.is_array_of()?;
        let run = &mut *self.0.borrow_mut();
        let array = run.schema.take();
        run.schema = json!({"oneOf": [{"type": "string"}, array]});
        Ok(element)
    }

    /// A field of this object.
    pub(super) fn field<T: Read + JsonSchema>(
        &self,
        name: &str,
        presence: Presence,
    ) -> Result<T, ApiError> {
        let (forms, owner) = {
            let run = self.0.borrow();
            (run.forms.clone(), run.name.clone())
        };
        let (mut schema, value) = forms.read()?;
        if let Some(bound) = limits::bound(&owner, name) {
            bound.add_to(&mut schema);
        }
        if matches!(presence, Presence::RequiredNullable | Presence::Nullable) {
            schema = or_null(schema);
        }
        let required = matches!(presence, Presence::Required | Presence::RequiredNullable);
        self.property(name, schema, required);
        Ok(value)
    }

    /// The tag of this object: which of its words is the one of this run.
    pub(super) fn tag(&self, name: &str, words: &[&str]) -> usize {
        let at = {
            let run = &mut *self.0.borrow_mut();
            if run.tags_read == run.choices.len() {
                run.choices.push(Choice {
                    at: 0,
                    of: words.len(),
                });
            }
            run.tags_read += 1;
            run.choices[run.tags_read - 1].at
        };
        self.property(name, json!({"type": "string", "const": words[at]}), true);
        at
    }

    fn property(&self, name: &str, schema: Value, required: bool) {
        let object = &mut self.0.borrow_mut().schema;
        object["properties"][name] = schema;
        if required && let Value::Array(names) = &mut object["required"] {
            names.push(name.into());
        }
    }

    /// An object whose fields are asked for.
    pub(super) fn begin_object(&self) {
        self.is(json!({"type": "object", "properties": {}, "required": []}));
    }

    /// It takes no other fields.
    pub(super) fn end_object(&self) {
        self.0.borrow_mut().schema["additionalProperties"] = false.into();
    }
}

/// Without keywords that say nothing.
fn tidied(mut schema: Value) -> Value {
    for keyword in ["properties", "required"] {
        let says_nothing = schema[keyword] == json!({}) || schema[keyword] == json!([]);
        if let (true, Value::Object(keywords)) = (says_nothing, &mut schema) {
            keywords.shift_remove(keyword);
        }
    }
    schema
}

fn or_null(mut schema: Value) -> Value {
    let simple = schema.get("enum").or(schema.get("const")).is_none();
    match schema.get_mut("type") {
        Some(kind) if simple => {
            *kind = json!([kind.take(), "null"]);
            schema
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// Adds what the type and its fields say about themselves.
fn describe<T: JsonSchema>(schema: &mut Value) {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let told = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    copy_words(told.as_value(), schema);
    let Some(Value::Array(runs)) = schema.get_mut("oneOf") else {
        return;
    };
    let told_of = |tag: &Value| {
        let variants = told.get("oneOf").and_then(Value::as_array);
        let mut variants = variants.into_iter().flatten();
        variants.find(|variant| &variant["properties"]["type"]["const"] == tag)
    };
    for run in runs {
        let tag = run["properties"]["type"]["const"].clone();
        if let Some(variant) = told_of(&tag) {
            copy_words(variant, run);
        }
    }
}

fn copy_words(from: &Value, to: &mut Value) {
    if let Some(words) = from.get("description") {
        to["description"] = words.clone();
    }
    let Some(Value::Object(properties)) = to.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        if let Some(words) = from["properties"][name].get("description") {
            property["description"] = words.clone();
        }
    }
}
