//! Everything below a name gone, in all versions.

use aws_sdk_s3::types::{Delete, ObjectIdentifier};

use crate::backend::aws::fault::Fault;

/// Removes every version of every object whose name begins so. Begun anew, it goes on with what is left.
///
/// # Errors
/// S3 did not do it, or not to every object; what it did is done.
pub(in crate::backend::aws) async fn sweep(
    s3: &aws_sdk_s3::Client,
    bucket: &str,
    prefix: &str,
) -> Result<(), Fault> {
    let unsound = |error: aws_smithy_types::error::operation::BuildError| Fault::Refused {
        code: "InvalidRequest".to_owned(),
        message: error.to_string(),
    };
    loop {
        let list = s3.list_object_versions().bucket(bucket);
        let page = list.prefix(prefix).send().await;
        let page = page.map_err(|error| Fault::of(&error))?;
        let versions = page.versions().iter().map(|v| (v.key(), v.version_id()));
        let markers = page.delete_markers().iter();
        let markers = markers.map(|marker| (marker.key(), marker.version_id()));
        let mut objects = Vec::new();
        for (key, version) in versions.chain(markers) {
            let Some(key) = key else { continue };
            let object = ObjectIdentifier::builder()
                .key(key)
                .set_version_id(version.map(str::to_owned))
                .build();
            objects.push(object.map_err(unsound)?);
        }
        if objects.is_empty() {
            return Ok(());
        }
        let all = Delete::builder().set_objects(Some(objects)).quiet(true);
        let all = all.build().map_err(unsound)?;
        let answer = s3.delete_objects().bucket(bucket).delete(all).send().await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        if let Some(error) = answer.errors().first() {
            let why = error.message().or(error.code()).unwrap_or_default();
            let words = format!("an object could not be deleted: {why}");
            return Err(match error.code() {
                Some("AccessDenied") => Fault::Denied(words),
                _ => Fault::Uncertain(words),
            });
        }
    }
}
