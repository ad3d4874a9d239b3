//! The text exposition format, version 0.0.4.

use std::fmt::{Display, Write};

use crate::engine::measure::{BOUNDS_US, DurationsNow};

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Text(String);

/// Names and values of one sample's labels.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Text {
    /// A count since the process began.
    pub(super) fn counter(&mut self, name: &str, help: &str, samples: &[(Labels, u64)]) {
        self.family(name, "counter", help, samples);
    }

    /// A number as it is now.
    pub(super) fn gauge(&mut self, name: &str, help: &str, samples: &[(Labels, u64)]) {
        self.family(name, "gauge", help, samples);
    }

    /// A number of seconds as it is now.
    pub(super) fn seconds(&mut self, name: &str, help: &str, samples: &[(Labels, u64)]) {
        self.head(name, "gauge", help);
        for (labels, time_ms) in samples {
            self.sample(name, labels, time_ms.to_seconds(1_000.0));
        }
    }

    /// Durations in classes.
    pub(super) fn histogram(&mut self, name: &str, help: &str, now: &DurationsNow) {
        self.head(name, "histogram", help);
        let bounds = BOUNDS_US
            .iter()
            .map(|bound| bound.to_seconds(1e6).to_string());
        let bounds = bounds.chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(now.at_most) {
            self.sample(&format!("{name}_bucket"), &[("le", &bound)], count);
        }
        let all = now.at_most.last().copied().unwrap_or_default();
        self.sample(&format!("{name}_sum"), &[], now.sum_us.to_seconds(1e6));
        self.sample(&format!("{name}_count"), &[], all);
    }

    /// All of it.
    pub(super) fn finish(self) -> String {
        self.0
    }

    fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[(Labels, u64)]) {
        self.head(name, kind, help);
        for (labels, value) in samples {
            self.sample(name, labels, value);
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', r"\\").replace('\n', r"\n");
        // Writing into a text does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: Labels, value: impl Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let value = value.replace('\\', r"\\");
            let value = value.replace('"', "\\\"").replace('\n', r"\n");
            let _ = write!(self.0, "{before}{label}=\"{value}\"");
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }
}

trait ToSeconds {
    /// As seconds, of which one is so many of these.
    fn to_seconds(&self, parts: f64) -> f64;
}

impl ToSeconds for u64 {
    #[allow(
        clippy::cast_precision_loss,
        reason = "what is beyond 2^53 µs is 285 years"
    )]
    fn to_seconds(&self, parts: f64) -> f64 {
        *self as f64 / parts
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::engine::measure::Durations;

    #[test]
    fn samples_stand_below_what_they_are() {
        let mut text = Text::default();
        text.counter("a_total", "Of \\ and\nmore.", &[(&[("x", "1\"\\\n")], 7)]);
        text.gauge("b", "Now.", &[(&[], 0), (&[("x", "1"), ("y", "2")], 3)]);
        text.seconds("c_seconds", "Long.", &[(&[], 1_500)]);
        assert_eq!(
            text.finish(),
            r#"# HELP a_total Of \\ and\nmore.
# TYPE a_total counter
a_total{x="1\"\\\n"} 7
# HELP b Now.
# TYPE b gauge
b 0
b{x="1",y="2"} 3
# HELP c_seconds Long.
# TYPE c_seconds gauge
c_seconds 1.5
"#
        );
    }

    #[test]
    fn a_histogram_is_cumulative_and_ends_with_all() {
        let durations = Durations::default();
        for time_us in [50, 200, 9_000_000] {
            durations.took(Duration::from_micros(time_us));
        }
        let mut text = Text::default();
        text.histogram("t_seconds", "Times.", &durations.now());
        let text = text.finish();
        for line in [
            "t_seconds_bucket{le=\"0.0001\"} 1",
            "t_seconds_bucket{le=\"0.00025\"} 2",
            "t_seconds_bucket{le=\"5\"} 2",
            "t_seconds_bucket{le=\"+Inf\"} 3",
            "t_seconds_sum 9.00025",
            "t_seconds_count 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
        }
    }
}
