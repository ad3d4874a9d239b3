//! A machine whose one profile is a client of a server.

use crate::cli::env::TestEnv;

/// A key that no test may find anywhere but in a request's header.
pub const KEY: &str = "rtk_planted-secret-of-the-far-server";

/// A client of the server at this address, with this key and more of the profile.
pub fn client_with(base: &str, key: &str, more: &str) -> TestEnv {
    let env = TestEnv::configured(&format!(
        "[profile.far]\nkind = \"api\"\nbase_url = \"{base}\"\nkey_env = \"FAR_KEY\"\n{more}\n"
    ));
    env.with("FAR_KEY", key)
}

/// The same with nothing more.
pub fn client(base: &str, key: &str) -> TestEnv {
    client_with(base, key, "")
}
