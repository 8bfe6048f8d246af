"""The pages of the HTML reports: what each template is given, and the frame that all share."""
