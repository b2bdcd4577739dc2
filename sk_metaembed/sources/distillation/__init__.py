"""Sources and vectors that are trained with another encoder as the teacher."""
