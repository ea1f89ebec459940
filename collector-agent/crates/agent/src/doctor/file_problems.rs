//! What a reader found wrong with files, as the inventory has it.

use tierscope_rootfs::{ReadError, Reader};
use tierscope_sample::inventory::FileProblem;

/// What was wrong with files since it was last asked.
pub(crate) fn file_problems(reader: &mut Reader) -> Vec<FileProblem> {
    let problems = reader.take_problems();
    let describe = |problem: ReadError| FileProblem {
        path: reader.root().kernel_path(&problem.path).display().to_string(),
        reason: problem.cause.to_string(),
        has_value: problem.cause.is_doubt(),
    };
    problems.into_iter().map(describe).collect()
}
