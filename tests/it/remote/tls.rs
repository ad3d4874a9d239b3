//! A daemon with TLS, and clients that trust it or do not.

use std::fs;

use super::far::client_with;
use crate::cli::env::TestEnv;
use crate::server::world::Api;

#[test]
fn a_certificate_is_trusted_when_the_profile_names_its_authority_and_not_before() {
    let env = TestEnv::new();
    let names = vec!["127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let certificate = env.path("home/cert.pem");
    fs::write(&certificate, made.cert.pem()).expect("writes");
    fs::write(env.path("home/key.pem"), made.signing_key.serialize_pem()).expect("writes");
    let files = ["--tls-cert", "home/cert.pem", "--tls-key", "home/key.pem"];
    let api = Api::with(env, &files);

    let ca = format!("ca_file = \"{}\"", certificate.display());
    let trusting = client_with(&api.base, &api.key, &ca);
    let doctor = trusting.run("doctor");
    assert_eq!(doctor.code, 0, "{doctor:#?}");
    assert!(doctor.stdout.contains("TLS, trusting"), "{doctor:#?}");
    assert_eq!(trusting.ok("agents list -o id"), "");

    // Repeating does not mend it, so it is said at once.
    let strange = client_with(&api.base, &api.key, "timeout_s = 3600");
    let ran = strange.run("agents list");
    assert_eq!(ran.code, 7, "{ran:#?}");
    assert!(ran.stderr.contains("certificate"), "{ran:#?}");

    let wrong = client_with(&api.base, &api.key, "ca_file = \"/dev/null\"");
    let ran = wrong.run("agents list");
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("ca_file"), "{ran:#?}");
}
