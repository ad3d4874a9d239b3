//! What a request uses of other parts of the API, beside what its route needs: an uploaded file that is copied into a workspace can
//! be read there, so who puts it there must be allowed to read it.

use super::answer::Caller;
use super::refusal::Answered;
use crate::api::{EnvironmentParam, HostedFileParam, HostedSkillParam, SessionCreateParams};
use crate::engine::scope::Scope;

impl Caller {
    /// Refuses a new Session with things that its key is not for.
    pub(super) fn may_use_all_of(&self, params: &SessionCreateParams) -> Answered<()> {
        if params.vault_ids.as_ref().is_some_and(|ids| !ids.is_empty()) {
            self.need(Scope::VaultsRead)?;
        }
        let EnvironmentParam::OpenaiHosted(hosted) = &params.environment else {
            return Ok(());
        };
        self.may_use_files(hosted.files.iter().flatten())?;
        self.may_use_skills(hosted.skills.iter().flatten())
    }

    /// Refuses uploaded files if its key may not read any.
    pub(super) fn may_use_files<'a>(
        &self,
        mut files: impl Iterator<Item = &'a HostedFileParam>,
    ) -> Answered<()> {
        match files.any(|file| matches!(file, HostedFileParam::FileId { .. })) {
            true => self.need(Scope::FilesRead),
            false => Ok(()),
        }
    }

    /// Refuses uploaded skills if its key may not read any.
    pub(super) fn may_use_skills<'a>(
        &self,
        mut skills: impl Iterator<Item = &'a HostedSkillParam>,
    ) -> Answered<()> {
        let is_uploaded = |skill| matches!(skill, &HostedSkillParam::SkillReference { .. });
        match skills.any(is_uploaded) {
            true => self.need(Scope::FilesRead),
            false => Ok(()),
        }
    }
}
