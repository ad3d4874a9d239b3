//! The page of routes says what the router does.

use rat_things::server::routes::{Coverage, ROUTES};

use super::world::Api;

#[test]
fn the_page_of_routes_is_the_table_of_the_router() {
    let rows: String = ROUTES
        .iter()
        .map(|route| {
            let (state, note) = match route.coverage {
                Coverage::Served => ("served", ""),
                Coverage::Partial(missing) => ("partial", missing),
                Coverage::Not => ("not", ""),
            };
            format!(
                "| {} | `{}` | {state} | {note} |\n",
                route.verb.name(),
                route.path
            )
        })
        .collect();
    let table = format!("| Method | Path | State | Missing |\n| --- | --- | --- | --- |\n{rows}");
    let page = include_str!("../../../docs/api-coverage.md");
    assert!(
        page.contains(&table),
        "docs/api-coverage.md must contain:\n{table}"
    );
}

#[tokio::test]
async fn exactly_what_is_not_served_answers_501() {
    let api = Api::new();
    for route in ROUTES.iter().filter(|route| route.path.starts_with("/v1/")) {
        let path = route.path.trim_start_matches("/v1").replace(['{', '}'], "");
        let request = api.request(route.verb.name(), &path);
        let status = request.send().await.expect("answers").status().as_u16();
        assert_eq!(
            status == 501,
            route.coverage == Coverage::Not,
            "{} {path}: {status}",
            route.verb.name()
        );
    }
}
