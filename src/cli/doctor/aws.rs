//! The checks of a profile whose records are in an AWS account.

use super::check::{Check, Verdict};
use crate::cli::Context;
use crate::cli::compose::setup::{self, Line, Setup, Standing, Wanted};
use crate::cli::out::Kind;

/// Table, bucket, and what is for workers on instances.
const FOR_WORKERS: [&str; 2] = ["security group", "launch template"];
/// Properties without which nothing works.
const GRAVE: [(&str, &str); 2] = [("table", "key"), ("bucket", "region")];

/// Who asks, and whether the deployment is as it should be; as far as one needs the other.
pub(super) async fn all(context: &Context) -> Vec<Check> {
    let setup = match setup::connect(&context.settings, &Wanted::default()).await {
        Ok(setup) => setup,
        Err(error) => {
            // A name that is none is a matter of the configuration.
            let name = match error.kind {
                Kind::Usage => "deployment",
                _ => "credentials",
            };
            let mut check = Check::from_error(name, &error);
            check.auth = error.kind == Kind::Auth;
            return vec![check];
        }
    };
    let (deployment, account, region) = setup.place();
    let who = format!(
        "{}; deployment {deployment} in account {account}, region {region}",
        setup.caller
    );
    let mut checks = vec![Check::ok("credentials", who)];
    let lines = match setup.lines().await {
        Ok(lines) => lines,
        Err(error) => {
            checks.push(Check::from_error("deployment", &error));
            return checks;
        }
    };
    checks.extend(of_resources(&lines));
    checks.push(program(&setup, &lines).await);
    checks
}

/// One check of each resource that is as it should be, and one of each property that is not.
fn of_resources(lines: &[Line]) -> Vec<Check> {
    lines
        .chunk_by(|one, next| one.resource == next.resource)
        .flat_map(|of_one| {
            let resource = of_one[0].resource;
            if of_one.iter().all(|line| line.standing == Standing::Create) {
                return vec![absent(resource, &of_one[0].name)];
            }
            let wrong: Vec<Check> = of_one.iter().filter_map(deviation).collect();
            match wrong.is_empty() {
                true => {
                    let names = of_one.iter().map(|line| line.property);
                    let names: Vec<&str> = names.collect();
                    let found = format!("{}: {}", of_one[0].name, names.join(", "));
                    vec![Check::ok(resource, found)]
                }
                false => wrong,
            }
        })
        .collect()
}

fn absent(resource: &'static str, name: &str) -> Check {
    let found = format!("there is no {name}");
    match FOR_WORKERS.contains(&resource) {
        true => Check::ok(
            resource,
            format!("{found}; agents run on the machines of daemons"),
        ),
        false => Check::failed(resource, found).fix("rat-things aws init"),
    }
}

fn deviation(line: &Line) -> Option<Check> {
    let found = line.found.as_deref().unwrap_or("not set");
    let differs = || format!("{} is {found:?}, not {:?}", line.property, line.wanted);
    let grave = line.loses || GRAVE.contains(&(line.resource, line.property));
    let check = match line.standing {
        Standing::Right => return None,
        Standing::Hidden => {
            let words = format!("{} can't be looked at: {found}", line.property);
            return Some(
                Check::warning(line.resource, words)
                    .fix("rat-things aws policy operator prints what who looks must be permitted"),
            );
        }
        Standing::Fixed => Check::failed(line.resource, differs())
            .fix("choose another name with aws.deployment, aws.table or aws.bucket"),
        Standing::Create | Standing::Change => {
            Check::warning(line.resource, differs()).fix("rat-things aws init")
        }
    };
    Some(match grave {
        true => Check {
            verdict: Verdict::Failed,
            ..check
        },
        false => check,
    })
}

/// Whether workers find a program.
async fn program(setup: &Setup, lines: &[Line]) -> Check {
    const NAME: &str = "program";
    let template = |line: &&Line| line.resource == FOR_WORKERS[1];
    let mut of_template = lines.iter().filter(template);
    if of_template.all(|line| line.standing == Standing::Create) {
        return Check::ok(
            NAME,
            "none is needed: agents run on the machines of daemons",
        );
    }
    match setup.programs().await {
        Ok(found) if found.is_empty() => Check::warning(
            NAME,
            format!("none is uploaded for {}", setup.architecture()),
        )
        .fix("rat-things aws init, with --binary FILE where this machine has other processors"),
        Ok(found) => Check::ok(
            NAME,
            format!("{} uploaded for {}", found.len(), setup.architecture()),
        ),
        Err(error) => Check::from_error(NAME, &error),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn line(resource: &'static str, property: &'static str, standing: Standing) -> Line {
        Line {
            resource,
            name: "n".to_owned(),
            property,
            standing,
            found: (standing != Standing::Create).then(|| "is".to_owned()),
            wanted: "wanted".to_owned(),
            loses: property == "lifecycle",
        }
    }

    fn verdicts(lines: &[Line]) -> Vec<(&'static str, Verdict, usize)> {
        let checks = of_resources(lines).into_iter();
        let seen = checks.map(|check| (check.name, check.verdict, check.fixes.len()));
        seen.collect()
    }

    #[test]
    fn what_is_right_is_one_line_and_what_is_not_has_one_each() {
        let lines = [
            line("table", "key", Standing::Right),
            line("table", "billing", Standing::Right),
            line("bucket", "versioning", Standing::Change),
            line("bucket", "lifecycle", Standing::Change),
            line("bucket", "tag", Standing::Hidden),
            line("bucket", "encryption", Standing::Right),
        ];
        let expected = [
            ("table", Verdict::Ok, 0),
            ("bucket", Verdict::Warning, 1),
            ("bucket", Verdict::Failed, 1),
            ("bucket", Verdict::Warning, 1),
        ];
        assert_eq!(verdicts(&lines), expected);
    }

    #[test]
    fn a_deployment_without_workers_is_whole_and_one_without_a_table_is_not() {
        let lines = [
            line("table", "key", Standing::Create),
            line("table", "billing", Standing::Create),
            line("security group", "inbound", Standing::Create),
            line("launch template", "image", Standing::Create),
        ];
        let expected = [
            ("table", Verdict::Failed, 1),
            ("security group", Verdict::Ok, 0),
            ("launch template", Verdict::Ok, 0),
        ];
        assert_eq!(verdicts(&lines), expected);
    }

    #[test]
    fn another_key_can_not_be_mended() {
        let checks = of_resources(&[line("table", "key", Standing::Fixed)]);
        assert_eq!(checks[0].verdict, Verdict::Failed);
        assert!(checks[0].fixes[0].contains("aws.table"), "{checks:?}");
    }
}
